"""Fixtures for the tests of facts: records as bytes, and how their fields lie; conftests import them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from drynpu.raw import RecordKind


@pytest.fixture
def pack() -> Callable[..., bytes]:
    """Return one record of a kind with values by field, as the bytes that stand in a file."""

    def pack(kind: RecordKind, **values: object) -> bytes:
        rows = kind.new(1)
        for name, value in values.items():
            rows[name] = value
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


@pytest.fixture
def fits() -> Callable[[np.dtype[np.void], str], bool]:
    """Return whether each field has the place and the size of another item of a struct format, the record its size."""

    def items(text: str) -> Iterator[tuple[int, int]]:
        offset = 0
        for count, code in re.findall(r"(\d*)([a-zA-Z?])", text):
            size = int(count or 1) if code == "s" else struct.calcsize(f"<{code}")
            for _ in range(1 if code == "s" else int(count or 1)):
                yield offset, size
                offset += size

    def places(dtype: np.dtype[Any], start: int = 0) -> Iterator[tuple[int, int]]:
        if dtype.subdtype is not None:
            base, shape = dtype.subdtype
            for number in range(int(np.prod(shape))):
                yield from places(base, start + number * base.itemsize)
        elif dtype.fields is None:
            yield start, dtype.itemsize
        else:
            for part, offset, *_ in dtype.fields.values():
                yield from places(part, start + offset)

    def fits(dtype: np.dtype[np.void], text: str) -> bool:
        found = list(places(dtype))
        apart = len(found) == len(set(found))
        return apart and set(found) <= set(items(text)) and dtype.itemsize == struct.calcsize(text)

    return fits


@pytest.fixture
def plausible() -> Callable[..., bool]:
    """Return whether a record with these values, and zeros besides, can be of a kind."""

    def plausible(kind: RecordKind, **values: int) -> bool:
        rows = np.frombuffer(bytearray(kind.dtype.itemsize), kind.dtype)
        for name, value in values.items():
            rows[name] = value
        return bool(kind.plausible(rows)[0])

    return plausible
