"""
The records of a profile on disk: layouts, writer and reader of ``PROF_XXX`` and of the ``FRAMEWORK`` files.

Everything after the simulated device meets everything before it here, in the formats of the real toolchain:
`ProfWriter` leaves a directory that the vendor's parser reads, `ProfReader` reads one whoever wrote it.
"""

from __future__ import annotations

from drynpu.raw import layouts
from drynpu.raw._batches import batches_from_flips
from drynpu.raw._clock import ClockAnchors
from drynpu.raw._document import write_document
from drynpu.raw._families import FAMILIES, family
from drynpu.raw._family import Family
from drynpu.raw._hash import hash_text
from drynpu.raw._ids import (
    CONTEXT_ID_NONE,
    EVENT_FLAG,
    HOST_MAGIC,
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
from drynpu.raw._kinds import (
    AicpuType,
    FrameworkRecord,
    GeTaskType,
    Level,
    LinkType,
    LpmType,
    ModelType,
    NodeType,
    OpRangeField,
    RuntimeType,
    SocPmuType,
    SqeType,
    StarsFunction,
    TsFunction,
    TxEvent,
    TxInfo,
)
from drynpu.raw._mindspore_words import (
    MS_ABSENT,
    MS_EVENTS,
    MS_MODULES,
    MS_STAGES,
    MsMemoryField,
    MsOpRangeField,
    MsShapesField,
)
from drynpu.raw._names import prof_directory_name
from drynpu.raw._reader import ProfReader
from drynpu.raw._text_family import TextFamily
from drynpu.raw._text_files import TEXT_FAMILIES, text_family
from drynpu.raw._tlv import FlatRecords, TlvRecords, read_flat, read_tlv, write_flat, write_tlv
from drynpu.raw._writer import SLICE_BYTES, ProfWriter

__all__ = [
    "CONTEXT_ID_NONE",
    "EVENT_FLAG",
    "FAMILIES",
    "HOST_MAGIC",
    "MAX_PLAIN_STREAM_ID",
    "MODEL_ID_NONE",
    "MS_ABSENT",
    "MS_EVENTS",
    "MS_MODULES",
    "MS_STAGES",
    "SLICE_BYTES",
    "STARS_MAGIC",
    "STREAM_DESTROYED",
    "TEXT_FAMILIES",
    "AicpuType",
    "ClockAnchors",
    "CpuInfo",
    "DeviceInfo",
    "Family",
    "FlatRecords",
    "FrameworkRecord",
    "GeTaskType",
    "HostInfo",
    "Level",
    "LinkType",
    "LpmType",
    "ModelType",
    "MsMemoryField",
    "MsOpRangeField",
    "MsShapesField",
    "NetCard",
    "NodeType",
    "OpRangeField",
    "ProfReader",
    "ProfWriter",
    "RuntimeType",
    "SocPmuType",
    "SqeType",
    "StarsFunction",
    "TextFamily",
    "TlvRecords",
    "TsFunction",
    "TxEvent",
    "TxInfo",
    "batches_from_flips",
    "decode_stream_task",
    "encode_stream_task",
    "family",
    "hash_text",
    "join_task_id",
    "layouts",
    "pack_stars_header",
    "prof_directory_name",
    "read_flat",
    "read_tlv",
    "split_task_id",
    "text_family",
    "unpack_stars_header",
    "write_document",
    "write_flat",
    "write_tlv",
]
