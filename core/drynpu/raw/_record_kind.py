"""What a record kind is, and how its records are told from other bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from attrs import field, frozen

from drynpu.arrays import Bools, Records
from drynpu.raw._ids import HOST_MAGIC, STARS_MAGIC

Layout = np.dtype[np.void]
Plausible = Callable[[Records], Bools]
FieldSpec = tuple[str, object, int]
"""Name, format and offset of a field."""

_NO_CONSTANTS: Mapping[str, int] = MappingProxyType({})


@frozen(kw_only=True)
class RecordKind:
    """
    One kind of record and the files that hold it (cann_msprof.md 7.1).

    ``stem`` is the file name before the device id and the slice number; a host stem begins with ``unaging.``
    and the reader looks for ``aging.`` as well. ``constants`` are the fields that have one value in every record;
    `new` fills them. ``plausible`` says which records can be of this kind, so that a reader finds record bounds in a
    file whose beginning or end is lost. ``function`` singles the kind out of a file shared by several: it is the value
    that ``function_field`` has under ``function_mask``.
    """

    name: str
    side: str
    """``host`` or ``device``."""
    stem: str
    dtype: Layout
    plausible: Plausible = field(eq=False)
    constants: Mapping[str, int] = field(factory=dict, eq=False)
    function: int | None = None
    function_field: str = "function"
    function_mask: int = 0xFF
    also: tuple[str, ...] = ()
    """Further stems that hold the same records."""
    sized: bool = False
    """Whether records of other sizes stand in the same file: each says its own in the two bytes at offset 2."""
    running: tuple[str, int] | None = None
    """Field and first bit of a running number of four bits, which the writer counts over the whole file."""

    def new(self, count: int) -> Records:
        """Return ``count`` zeroed records with the constant fields filled in."""
        records: Records = np.zeros(count, self.dtype)
        for name, value in self.constants.items():
            records[name] = value
        return records

    def members(self, records: Records) -> Bools:
        """Return which records of a file are of this kind rather than of another one in the same file."""
        if self.function is None:
            return np.ones(len(records), np.bool_)
        return np.asarray(records[self.function_field] & self.function_mask == self.function)


def layout(size: int, *fields: FieldSpec) -> Layout:
    """
    Describe a packed record of ``size`` bytes by (name, format, offset) triples.

    Formats are little-endian; bytes that the reference calls reserved have no field and stay zero.
    """
    names, formats, offsets = zip(*fields, strict=True)
    return np.dtype({"names": list(names), "formats": list(formats), "offsets": list(offsets), "itemsize": size})


def device_kind(
    name: str, stem: str, dtype: Layout, plausible: Plausible, constants: Mapping[str, int] = _NO_CONSTANTS
) -> RecordKind:
    """Describe records that have a file of a device for themselves."""
    return RecordKind(name=name, side="device", stem=stem, dtype=dtype, plausible=plausible, constants=constants)


def has_host_magic(records: Records) -> Bools:
    """Judge host records by their magic number."""
    return np.asarray(records["magic"] == HOST_MAGIC)


def has_stars_magic(records: Records) -> Bools:
    """Judge records of the hardware scheduler by their magic number."""
    return np.asarray(records["magic"] == STARS_MAGIC)


def reserved_is_zero(at: int, size: int = 4) -> Plausible:
    """Judge records without a magic number by the reserved bytes at that offset, which must be zero."""

    def plausible(records: Records) -> Bools:
        octets = np.ascontiguousarray(records).view("u1").reshape(len(records), records.dtype.itemsize)
        return np.asarray(~octets[:, at : at + size].any(axis=1))

    return plausible


def rest_is_zero(at: int) -> Plausible:
    """Judge records without a magic number by the bytes from that offset to their end, which must be zero."""

    def plausible(records: Records) -> Bools:
        return reserved_is_zero(at, records.dtype.itemsize - at)(records)

    return plausible


def in_range(also: Plausible | None = None, **bounds: tuple[int, int]) -> Plausible:
    """Judge records by fields of which only a few values are known; ``also`` must hold as well."""

    def plausible(records: Records) -> Bools:
        good = np.ones(len(records), np.bool_) if also is None else also(records)
        for name, (least, most) in bounds.items():
            good = good & (records[name] >= least) & (records[name] <= most)
        return np.asarray(good)

    return plausible


def join_records(kind: RecordKind, parts: Sequence[Records]) -> Records:
    """Return the records of *parts* in order; unlike ``numpy.concatenate`` this keeps the layout's reserved bytes."""
    joined = kind.new(sum(len(part) for part in parts))
    begin = 0
    for part in parts:
        joined[begin : begin + len(part)] = part
        begin += len(part)
    return joined
