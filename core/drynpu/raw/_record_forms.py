"""
Forms of records that several record groups share: what stands in front of a record, and which file it is in.

Sources: cann_msprof.md 7.2 to 7.4; for ``stars_soc_profile.data`` Ascend/msprof profiling_bean/stars.
"""

from __future__ import annotations

import enum

import numpy as np

from drynpu.arrays import Bools, Records
from drynpu.raw._ids import HOST_MAGIC, STARS_MAGIC
from drynpu.raw._record_kind import (
    FieldSpec,
    Layout,
    RecordKind,
    has_host_magic,
    has_stars_magic,
    layout,
)

_COMPACT_BYTES, _ADDITIONAL_BYTES = 64, 256
DATA_BYTES = 232
"""Bytes of additional information behind its header."""
_TRACK_BYTES = 40
_SOC_PROFILE_BYTES = 64
_FUNCTION_BITS = 0x3F
"""Of the header of stars records: `pack_stars_header`."""


class HostLevel(enum.IntEnum):
    """Level of a host record: which part of the toolkit reports it (cann_msprof.md 7.2)."""

    RUNTIME = 5000
    COMMUNICATION = 5500
    AICPU = 6000
    NODE = 10000
    MODEL = 15000
    ACL = 20000
    TX = 20500


def behind_header(size: int, *fields: FieldSpec) -> Layout:
    """Describe a record behind the 24-byte header that compact (64 B) and additional (256 B) information share."""
    header: tuple[FieldSpec, ...] = (
        ("magic", "<u2", 0),
        ("level", "<u2", 2),
        ("type", "<u4", 4),
        ("thread_id", "<u4", 8),
        ("data_len", "<u4", 12),
        ("timestamp", "<u8", 16),
    )
    return layout(size, *header, *fields)


def compact_info(name: str, level: int, type_id: int, data_len: int, *fields: FieldSpec) -> RecordKind:
    """Describe compact information of the host; ``data_len`` are the bytes of the data part that it uses."""
    return _host_kind(f"unaging.compact.{name}", name, behind_header(_COMPACT_BYTES, *fields), level, type_id, data_len)


def additional_info(name: str, level: int, type_id: int, data_len: int, *fields: FieldSpec) -> RecordKind:
    """Describe additional information of the host; ``data_len`` are the bytes of the data part that it uses."""
    dtype = behind_header(_ADDITIONAL_BYTES, *fields)
    return _host_kind(f"unaging.additional.{name}", name, dtype, level, type_id, data_len)


def _host_kind(stem: str, name: str, dtype: Layout, level: int, type_id: int, data_len: int) -> RecordKind:
    return RecordKind(
        name=name,
        side="host",
        stem=stem,
        dtype=dtype,
        plausible=has_host_magic,
        constants={"magic": HOST_MAGIC, "level": level, "type": type_id, "data_len": data_len},
    )


def aicpu_record(name: str, type_id: int, data_len: int, *fields: FieldSpec) -> RecordKind:
    """Describe additional information in ``aicpu.data`` of a device, where its type tells the kinds apart."""
    return RecordKind(
        name=name,
        side="device",
        stem="aicpu.data",
        dtype=behind_header(_ADDITIONAL_BYTES, *fields),
        plausible=has_host_magic,
        constants={"magic": HOST_MAGIC, "level": HostLevel.AICPU, "type": type_id, "data_len": data_len},
        function=type_id,
        function_field="type",
        function_mask=0xFFFF_FFFF,
    )


def has_own_size(records: Records) -> Bools:
    """Judge records by the size that stands in them."""
    return np.asarray(records["size"] == records.dtype.itemsize)


def sized_record(name: str, stem: str, size: int, function: int, *fields: FieldSpec) -> RecordKind:
    """Describe a record of the task scheduler by its function byte and its size, which stands behind that."""
    head: tuple[FieldSpec, ...] = (("mode", "u1", 0), ("function", "u1", 1), ("size", "<u2", 2))
    return RecordKind(
        name=name,
        side="device",
        stem=stem,
        dtype=layout(size, *head, *fields),
        plausible=has_own_size,
        constants={"function": function, "size": size},
        function=function,
        sized=True,
    )


def ts_track_record(name: str, function: int, *fields: FieldSpec) -> RecordKind:
    """Describe a record of ``ts_track.data``, what the task scheduler reports, by its function byte."""
    return sized_record(name, "ts_track.data", _TRACK_BYTES, function, ("tick", "<u8", 8), *fields)


def soc_profile_record(name: str, function: int, *fields: FieldSpec) -> RecordKind:
    """Describe a record of ``stars_soc_profile.data``, traffic on the chip, by the function of its stars header."""
    head: tuple[FieldSpec, ...] = (("header", "<u2", 0), ("magic", "<u2", 2), ("tick", "<u8", 8))
    return RecordKind(
        name=name,
        side="device",
        stem="stars_soc_profile.data",
        dtype=layout(_SOC_PROFILE_BYTES, *head, *fields),
        plausible=has_stars_magic,
        constants={"magic": STARS_MAGIC, "header": function},
        function=function,
        function_field="header",
        function_mask=_FUNCTION_BITS,
    )
