"""The bytes of records as they stand in a file."""

from __future__ import annotations

from typing import Any

import numpy as np

from drynpu._errors import RawFormatError
from drynpu.arrays import U8, Records
from drynpu.raw._record_kind import RecordKind


def record_bytes(entry: RecordKind, records: Records, first: int) -> bytes:
    """
    Give the bytes of records with zeros where the layout has no field: numpy leaves chance values there.

    Raises
    ------
    RawFormatError
        If a record is not of the kind; the message counts from ``first``.
    """
    placed = np.ascontiguousarray(records)
    if records.dtype != entry.dtype:
        placed = np.zeros(len(records), entry.dtype)
        for name in entry.dtype.names or ():
            placed[name] = records[name]
    raw = placed.view(np.uint8).reshape(len(records), -1) & _mask(entry.dtype)
    clean = raw.reshape(-1).view(entry.dtype)
    good = entry.plausible(clean) & entry.members(clean)
    if not good.all():
        at = first + int(np.argmin(good))
        constants = ", ".join(f"{name} {value}" for name, value in entry.constants.items())
        message = f"Record {at} is none of {entry.name}: its constant fields are {constants or 'out of range'}."
        raise RawFormatError(message)
    return raw.tobytes()


def _mask(dtype: np.dtype[Any]) -> U8:
    """Give 255 for each byte of a record that belongs to a field, 0 for the others."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(_mask(base), int(np.prod(shape)))
    mask = np.zeros(dtype.itemsize, np.uint8)
    if dtype.fields is None:
        mask[:] = 0xFF
    else:
        for part, offset, *_ in dtype.fields.values():
            mask[offset : offset + part.itemsize] = _mask(part)
    return mask
