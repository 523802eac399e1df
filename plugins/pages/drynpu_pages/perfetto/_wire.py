"""
Protocol buffers, column by column: many messages of one form as one array of bytes.

Every number takes the same room in all messages: a varint may have more bytes than it needs. So the lengths of messages
are known from their form, and a thousand messages are one copy of each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from drynpu.arrays import F64, U8, U64, Integers

Part: TypeAlias = "bytes | U8"
"""Bytes that all messages share, or a row of bytes for each."""

_BITS = 7
_VARINT, _FIXED, _BYTES = 0, 1, 2


def varint(value: int) -> bytes:
    """
    Return a number as short as it goes; negative ones have ten bytes.

    >>> varint(300).hex()
    'ac02'
    """
    value &= (1 << 64) - 1
    parts = []
    while value >= 1 << _BITS:
        parts.append(value & 0x7F | 0x80)
        value >>= _BITS
    return bytes([*parts, value])


def varints(values: Integers, width: int) -> U8:
    """Return numbers below ``2 ** (7 * width)`` as *width* bytes each, shape ``[n, width]``; negative ones need 10."""
    left = values.astype(np.int64).view(np.uint64)
    parts = np.empty((len(left), width), np.uint8)
    for place in range(width):
        # Of each number only the lowest eight bits are taken, and the highest of these says that more follow.
        parts[:, place] = left
        left = left >> np.uint64(_BITS)
    parts[:, :-1] |= 0x80
    parts[:, -1] &= 0x7F
    return parts


def eight_bytes(values: U64 | F64) -> U8:
    """Return numbers as they lie in memory, little-endian, shape ``[n, 8]``."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, 8)


def number(field: int, value: int | U8) -> tuple[Part, ...]:
    """Return a field that is a varint."""
    return (varint(field << 3 | _VARINT), varint(value) if isinstance(value, int) else value)


def fixed(field: int, values: U64 | F64) -> tuple[Part, ...]:
    """Return a field of eight bytes."""
    return (varint(field << 3 | _FIXED), eight_bytes(values))


def message(field: int, *parts: Part) -> tuple[Part, ...]:
    """Return a field that holds other fields, a text or bytes."""
    return (varint(field << 3 | _BYTES) + varint(sum(map(_width, parts))), *parts)


def text(field: int, value: str) -> bytes:
    """Return a field that is a text."""
    return joined(1, message(field, value.encode("utf-8", "replace")))


def joined(count: int, parts: Sequence[Part]) -> bytes:
    """Return *count* messages of the same parts, one after the other."""
    if all(isinstance(part, bytes) for part in parts):
        return b"".join(bytes(part) for part in parts) * count
    # One copy of a whole row for all that is shared, then one for each column.
    shared = b"".join(part if isinstance(part, bytes) else bytes(_width(part)) for part in parts)
    rows = np.empty((count, len(shared)), np.uint8)
    rows[:] = np.frombuffer(shared, np.uint8)
    place = 0
    for part in parts:
        width = _width(part)
        if not isinstance(part, bytes):
            rows[:, place : place + width] = part
        place += width
    return rows.tobytes()


def _width(part: Part) -> int:
    return len(part) if isinstance(part, bytes) else part.shape[1]
