"""
How the records of a profile are stored: slices, clocks, control files, record kinds and how they are told apart.

Which records there are stands in ``drynpu.layouts`` and the facts of each record group; `ProfWriter` leaves a
directory that the vendor's parser reads, `ProfReader` reads one whoever wrote it, and both are given the record kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.raw._batches import batches_from_flips
    from drynpu.raw._clock import ClockAnchors
    from drynpu.raw._hash import hash_text
    from drynpu.raw._ids import (
        CONTEXT_ID_NONE,
        EVENT_FLAG,
        HOST_MAGIC,
        LAST_TASK_ID,
        MAX_PLAIN_STREAM_ID,
        MODEL_ID_NONE,
        STARS_MAGIC,
        STREAM_DESTROYED,
        decode_stream_task,
        encode_stream_task,
        join_task_id,
        pack_stars_header,
        split_task_id,
        unpack_stars_header,
    )
    from drynpu.raw._info import CpuInfo, DeviceInfo, HostInfo, NetCard
    from drynpu.raw._names import prof_directory_name
    from drynpu.raw._reader import ProfReader
    from drynpu.raw._record_forms import (
        DATA_BYTES,
        HostLevel,
        additional_info,
        aicpu_record,
        behind_header,
        compact_info,
        sized_record,
        soc_profile_record,
        ts_track_record,
    )
    from drynpu.raw._record_kind import (
        Plausible,
        RecordKind,
        device_kind,
        has_host_magic,
        has_stars_magic,
        in_range,
        join_records,
        layout,
        reserved_is_zero,
        rest_is_zero,
    )
    from drynpu.raw._record_kinds import RecordKinds
    from drynpu.raw._text_kind import Chunks, Parse, Parsed, Row, TextKind, number, one_line, shortest, whole, word
    from drynpu.raw._text_lines import (
        CLOCK_TITLE,
        by_line,
        clock_text,
        counter_columns,
        read_clock,
        read_counters,
        write_counters,
    )
    from drynpu.raw._tlv import FlatRecords, TlvFile, TlvRecords, read_flat, read_tlv, write_flat, write_tlv
    from drynpu.raw._writer import SLICE_BYTES, ProfWriter, new_prof_directory
    from drynpu.raw.files import write_document
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "CLOCK_TITLE",
    "CONTEXT_ID_NONE",
    "DATA_BYTES",
    "EVENT_FLAG",
    "HOST_MAGIC",
    "LAST_TASK_ID",
    "MAX_PLAIN_STREAM_ID",
    "MODEL_ID_NONE",
    "SLICE_BYTES",
    "STARS_MAGIC",
    "STREAM_DESTROYED",
    "Chunks",
    "ClockAnchors",
    "CpuInfo",
    "DeviceInfo",
    "FlatRecords",
    "HostInfo",
    "HostLevel",
    "NetCard",
    "Parse",
    "Parsed",
    "Plausible",
    "ProfReader",
    "ProfWriter",
    "RecordKind",
    "RecordKinds",
    "Row",
    "TextKind",
    "TlvFile",
    "TlvRecords",
    "additional_info",
    "aicpu_record",
    "batches_from_flips",
    "behind_header",
    "by_line",
    "clock_text",
    "compact_info",
    "counter_columns",
    "decode_stream_task",
    "device_kind",
    "encode_stream_task",
    "has_host_magic",
    "has_stars_magic",
    "hash_text",
    "in_range",
    "join_records",
    "join_task_id",
    "layout",
    "new_prof_directory",
    "number",
    "one_line",
    "pack_stars_header",
    "prof_directory_name",
    "read_clock",
    "read_counters",
    "read_flat",
    "read_tlv",
    "reserved_is_zero",
    "rest_is_zero",
    "shortest",
    "sized_record",
    "soc_profile_record",
    "split_task_id",
    "ts_track_record",
    "unpack_stars_header",
    "whole",
    "word",
    "write_counters",
    "write_document",
    "write_flat",
    "write_tlv",
]
