"""Runs a model that copies its images with one change of the settings of images after another."""

from __future__ import annotations

import json
import sys

import aclruntime
import numpy as np

CHANGES = json.loads(sys.argv[1])
"""For each run the arguments of methods by their names; the first has all of them."""


def show(name, value):
    print(f"{name}={json.dumps(value)}")


def refusal(call, *arguments):
    try:
        call(*arguments)
    except RuntimeError as error:
        return str(error)


def run(session):
    raw = (np.arange(1000) * 53 % 256).astype(np.uint8)
    (result,) = session.run(["image_copy"], [aclruntime.BaseTensor(raw.__array_interface__["data"][0], raw.nbytes)])
    result.to_host()
    return np.array(result).tolist()


def apply(session, settings):
    for name, value in settings.items():
        getattr(session, name)(value)


def main():
    session = aclruntime.InferenceSession("images.om", 0, None)
    plain = aclruntime.InferenceSession("mlp.om", 0, None)
    show("count", [session.get_dym_aipp_input_exist(), plain.get_dym_aipp_input_exist()])
    apply(session, CHANGES[0])
    session.set_dym_aipp_info_set()
    unchecked = refusal(run, session)
    session.check_dym_aipp_input_exist()
    show("unchecked", [unchecked, refusal(plain.check_dym_aipp_input_exist)])
    found = []
    for changes in CHANGES:
        apply(session, {**CHANGES[0], **changes})
        session.set_dym_aipp_info_set()
        found.append(run(session))
    show("images", found)
    session.aipp_set_dtc_pixel_mean([9, 9, 9, 9])
    show("not_yet", run(session) == found[-1])
    session.set_dym_aipp_info_set()
    show("now", run(session) == found[-1])
    apply(session, {**CHANGES[0], "aipp_set_max_batch_size": 1})
    session.set_dym_aipp_info_set()
    one = refusal(run, session)
    session.aipp_set_max_batch_size(0)
    show("batches", [one, refusal(session.set_dym_aipp_info_set)])


main()
