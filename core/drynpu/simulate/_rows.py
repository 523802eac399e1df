"""Joining record arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from drynpu.raw import RecordKind


def join_records(kind: RecordKind, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the records of *parts* in order; unlike ``numpy.concatenate`` this keeps the layout's reserved bytes."""
    joined = kind.new(sum(len(part) for part in parts))
    begin = 0
    for part in parts:
        joined[begin : begin + len(part)] = part
        begin += len(part)
    return joined
