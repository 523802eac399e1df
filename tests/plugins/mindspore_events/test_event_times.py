"""Times between events of MindSpore: modelled, and the same with and without a profile."""

from __future__ import annotations

import csv
import functools
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("event_script.py")
KINDS = ("alone", "profiled", "after")
SAME = 0.05
"""Relative: what the host measured between two launches is part of a time."""


@pytest.fixture(scope="module", params=["pynative", pytest.param("graph", marks=pytest.mark.slow)])
def run(request: Any, scripts: Any) -> Any:
    return scripts.simulated(SCRIPT, request.param)


@pytest.fixture(scope="module")
def times(run: Any) -> Any:
    return json.loads(next(line for line in run.stdout.splitlines() if line.startswith("{")))


def test_a_time_is_the_same_with_and_without_a_profile(times: Any) -> None:
    """The least of six measurements: another process of this machine may hold the host up in the others."""
    least = {where: [min(row[place] for row in times[where]) for place in range(3)] for where in KINDS}
    assert least["profiled"] == pytest.approx(least["alone"], rel=SAME)
    assert least["after"] == pytest.approx(least["alone"], rel=SAME)


def test_parts_add_up_and_nothing_takes_nothing(times: Any) -> None:
    rows = [row for where in KINDS for row in times[where]]
    for one, whole, rest, nothing in rows:
        assert one + rest == pytest.approx(whole, abs=1e-5)
        assert nothing >= 0
    assert min(row[3] for row in rows) == 0


def test_a_time_is_that_of_the_kernels_between(run: Any, times: Any) -> None:
    (folder,) = run.runs()
    with (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        products_us = [float(row["Duration(us)"]) for row in csv.DictReader(stream)]
    middle = functools.reduce(min, (row[1] for row in times["profiled"]))
    kernels_ms = 20 * sorted(products_us)[len(products_us) // 2] / 1000
    assert kernels_ms * (1 - SAME) < middle < 2 * kernels_ms


def test_an_event_from_before_the_profile_has_a_time(times: Any) -> None:
    assert times["across"][0] > min(row[1] for row in times["profiled"])


def test_an_event_without_a_time_says_so(times: Any) -> None:
    untimed, unrecorded = times["refused"]
    assert "created with enable_timing=True" in untimed
    assert "has not been recorded yet" in unrecorded


@pytest.mark.slow
def test_without_the_plugin_the_cpu_build_answers(scripts: Any) -> None:
    script = (
        "import mindspore as ms\nms.set_context(device_target='Ascend')\n"
        "a, b = (ms.runtime.Event(enable_timing=True) for _ in range(2))\na.record()\nb.record()\n"
        "print(a.elapsed_time(b))"
    )
    run = scripts.simulated(script, environment={"DRYNPU_PLUGINS": "-mindspore_events"})
    assert run.stdout.splitlines()[-1] == "0.0"
