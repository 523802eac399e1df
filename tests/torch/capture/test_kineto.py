"""Texts of events that Kineto no longer has."""

from __future__ import annotations

import numpy as np

from drynpu_torch.capture._chunk import readable, unreadable_name
from drynpu_torch.capture._kineto import _addresses


def test_a_name_that_is_gone_costs_that_name_alone() -> None:
    texts = [b"train.py(3): step", b"gone/__init__.py(0): \xf0\xe1\x17", b"\xff\xfe"]
    assert readable(bytes.decode, texts[:1], unreadable_name) == ["train.py(3): step"]
    assert readable(bytes.decode, texts, unreadable_name) == [
        "train.py(3): step",
        "gone/__init__.py(0): <unknown>",
        "<unknown>",
    ]


class Activity:
    def __init__(self, name: bytes) -> None:
        self._name = name

    def name(self) -> str:
        return self._name.decode()

    def timestamp(self) -> int:
        return 7

    def metadata_json(self) -> str:
        return '"Bytes": 512, "Addr": 4096'


class Result:
    def trace_activities(self) -> list[Activity]:
        return [Activity(b"code.py(1): \x83\x04"), Activity(b"[memory]")]


def test_addresses_are_read_beside_names_that_are_gone() -> None:
    assert _addresses(Result(), np.array([7]), np.array([512])).tolist() == [4096]
