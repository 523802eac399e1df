"""Attributes of primitives, as MindSpore writes them as texts, become values of Python."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu_mindspore_kernels.compositions._attributes import read_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-1", -1),
        ("true", True),
        ("false", False),
        ("hccl_world_group", "hccl_world_group"),
        ("(1, -1)", (1, -1)),
        ("[2]", (2,)),
        ("((2, 3), (4,))", ((2, 3), (4,))),
        ("(isend, irecv)", ("isend", "irecv")),
        ("()", ()),
    ],
)
def test_a_text_says_a_value(text: str, value: Any) -> None:
    assert read_value(text) == value
