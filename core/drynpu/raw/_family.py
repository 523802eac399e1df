"""What a record family is, and how its records are told from other bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.raw import layouts
from drynpu.raw._ids import HOST_MAGIC, STARS_MAGIC

__all__ = [
    "Family",
    "Plausible",
    "has_host_magic",
    "has_stars_magic",
    "has_track_size",
    "in_range",
    "reserved_is_zero",
]

_Records = npt.NDArray[Any]
Plausible = Callable[[_Records], npt.NDArray[np.bool_]]


@frozen(kw_only=True)
class Family:
    """
    One kind of record and the files that hold it (cann_msprof.md 7.1).

    ``stem`` is the file name before the device id and the slice number; a host stem begins with ``unaging.``
    and the reader looks for ``aging.`` as well. ``constants`` are the fields that have one value in every record;
    `new` fills them. ``plausible`` says which records can be of this family, so that a reader finds record
    bounds in a file whose beginning or end is lost. ``function`` singles the family out of a file shared by several:
    it is the value that ``function_field`` has under ``function_mask``.
    """

    name: str
    side: str
    """``host`` or ``device``."""
    stem: str
    dtype: np.dtype[np.void]
    plausible: Plausible = field(eq=False)
    constants: Mapping[str, int] = field(factory=dict, eq=False)
    function: int | None = None
    function_field: str = "function"
    function_mask: int = 0xFF
    also: tuple[str, ...] = ()
    """Further stems that hold the same records."""

    def new(self, count: int) -> _Records:
        """``count`` zeroed records with the constant fields filled in."""
        records: _Records = np.zeros(count, self.dtype)
        for name, value in self.constants.items():
            records[name] = value
        return records

    def members(self, records: _Records) -> npt.NDArray[np.bool_]:
        """Say which records of a file are of this family rather than of another one in the same file."""
        if self.function is None:
            return np.ones(len(records), np.bool_)
        return np.asarray(records[self.function_field] & self.function_mask == self.function)


def has_host_magic(records: _Records) -> npt.NDArray[np.bool_]:
    """Judge host records by their magic number."""
    return np.asarray(records["magic"] == HOST_MAGIC)


def has_stars_magic(records: _Records) -> npt.NDArray[np.bool_]:
    """Judge records of the hardware scheduler by their magic number."""
    return np.asarray(records["magic"] == STARS_MAGIC)


def has_track_size(records: _Records) -> npt.NDArray[np.bool_]:
    """Judge ts_track records by the size that stands in them."""
    return np.asarray(records["size"] == layouts.TS_TRACK_STEP.itemsize)


def reserved_is_zero(at: int, size: int = 4) -> Plausible:
    """Judge records without a magic number by the reserved bytes at that offset, which must be zero."""

    def plausible(records: _Records) -> npt.NDArray[np.bool_]:
        octets = np.ascontiguousarray(records).view("u1").reshape(len(records), records.dtype.itemsize)
        return np.asarray(~octets[:, at : at + size].any(axis=1))

    return plausible


def in_range(also: Plausible | None = None, **bounds: tuple[int, int]) -> Plausible:
    """Judge records by fields of which only a few values are known; ``also`` must hold as well."""

    def plausible(records: _Records) -> npt.NDArray[np.bool_]:
        good = np.ones(len(records), np.bool_) if also is None else also(records)
        for name, (least, most) in bounds.items():
            good = good & (records[name] >= least) & (records[name] <= most)
        return np.asarray(good)

    return plausible
