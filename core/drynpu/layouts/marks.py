"""Facts of marks: the points and ranges that scripts and the framework set (msproftx)."""

from __future__ import annotations

import enum

from attrs import evolve

from drynpu.raw import DATA_BYTES, HOST_MAGIC, HostLevel, RecordKind, additional_info

MESSAGE_BYTES = 156
"""Bytes of a msproftx message, the terminating zero byte among them."""


class MarkPart(enum.IntEnum):
    """What a msproftx record holds."""

    MARK = 0
    EXTENDED_MARK = 1


class MarkKind(enum.IntEnum):
    """Kind of a mark."""

    POINT = 0
    PUSH_POP = 1
    START_END = 2
    EXTENDED_POINT = 3


_MSPROFTX = additional_info(
    "msproftx",
    HostLevel.TX,
    0,
    DATA_BYTES,
    ("info_type", "<u2", 24),  # MarkPart
    ("segment", "<u2", 26),  # extended marks: which part of a long message
    ("stamp_magic", "<u2", 32),
    ("data_tag", "<u2", 34),
    ("pid", "<u4", 36),
    ("tid", "<u4", 40),
    ("category", "<u4", 44),
    ("event_type", "<u4", 48),  # MarkKind
    ("payload_type", "<i4", 52),
    ("payload", "<u8", 56),
    ("start", "<u8", 64),
    ("end", "<u8", 72),
    ("mark_id", "<u8", 80),
    ("domain", "<u8", 88),  # text id
    ("message_type", "<i4", 96),
    ("message", f"S{MESSAGE_BYTES}", 100),  # UTF-8, ended by a zero byte
)
MSPROFTX = evolve(_MSPROFTX, constants={**_MSPROFTX.constants, "stamp_magic": HOST_MAGIC})
"""
One mark or range of the user (cann_msprof.md 7.3). Times are raw host times; a mark on a stream has as its
``mark_id`` the ``index_id`` of the ts_track_step record that the device leaves.
"""

DEFAULT_DOMAIN = "default"
"""Domain of marks that name none (torch_npu_profiler.md 1.10)."""

KINDS: tuple[RecordKind, ...] = (MSPROFTX,)
