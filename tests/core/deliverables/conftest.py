"""Records as bytes, for the tests of facts."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from drynpu.raw import RecordKind


@pytest.fixture
def pack() -> Callable[..., bytes]:
    """Return one record of a kind with values by field, as the bytes that stand in a file."""

    def pack(kind: RecordKind, **values: object) -> bytes:
        rows = kind.new(1)
        for field, value in values.items():
            rows[field] = value
        return rows.tobytes()

    return pack


@pytest.fixture
def number() -> Callable[..., tuple[dict[str, object], list[int]]]:
    """Return a different value for every field that is not constant, in order, by field and as a list."""

    def number(kind: RecordKind, *, skip: tuple[str, ...] = ()) -> tuple[dict[str, object], list[int]]:
        fixed = (*kind.constants, *skip, "thread_id", "timestamp")
        fields = [field for field in kind.dtype.names or () if field not in fixed]
        return dict(zip(fields, range(1, 1 + len(fields)), strict=True)), list(range(1, 1 + len(fields)))

    return number


@pytest.fixture
def host_head() -> Callable[[int, int, int], bytes]:
    """Return the header of host information: level, type and bytes of data (cann_msprof.md 7.3)."""
    return lambda level, type_id, data_len: struct.pack("<HHIIIQ", 0x5A5A, level, type_id, 0, data_len, 0)
