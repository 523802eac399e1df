"""Texts of events that Kineto no longer has."""

from __future__ import annotations

from drynpu_torch.capture._chunk import readable, unreadable_name


def test_a_name_that_is_gone_costs_that_name_alone() -> None:
    texts = [b"train.py(3): step", b"gone/__init__.py(0): \xf0\xe1\x17", b"\xff\xfe"]
    assert readable(bytes.decode, texts[:1], unreadable_name) == ["train.py(3): step"]
    assert readable(bytes.decode, texts, unreadable_name) == [
        "train.py(3): step",
        "gone/__init__.py(0): <unknown>",
        "<unknown>",
    ]
