"""
Facts of the schedulers that say when tasks ran: what a task is to each of them, and their records.

STARS (5, 7, 8, 11), its form on the 950 (15, 16), and HWTS before it (1 to 4); cann_msprof.md 7.4. Which of them a
platform has is the ``record`` of its `PlatformTasks`. Public files are in Ascend/msprof, ``analysis``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from drynpu.raw import STARS_MAGIC, RecordKind, device_kind, has_stars_magic, layout, sized_record, ts_track_record


class SqeType(enum.IntEnum):
    """What kind of queue entry a device task is."""

    AI_CORE = 0
    AI_CPU = 1
    AIV = 2
    PLACE_HOLDER = 3
    EVENT_RECORD = 4
    EVENT_WAIT = 5
    NOTIFY_RECORD = 6
    NOTIFY_WAIT = 7
    WRITE_VALUE = 8
    SDMA = 11
    VPC = 12
    JPEGE = 13
    JPEGD = 14
    DSA = 15
    ROCCE = 16
    PCIE_DMA = 17
    HOST_CPU = 18
    CDQM = 19
    C_CORE = 20
    # Only for the 950. Its scheduler has other numbers for all (V6_TYPES), so no vendor states these.
    FUSION = enum.auto()
    AICPU_H = enum.auto()
    AICPU_D = enum.auto()
    UBDMA = enum.auto()
    ASYNCDMA = enum.auto()
    CMO = enum.auto()
    CCU = enum.auto()
    CONDITION = enum.auto()
    END = enum.auto()


class TsTaskType(enum.IntEnum):
    """What the task scheduler calls a task (Ascend/msprof analysis/common_func/ms_constant/str_constant.py)."""

    AI_CORE = 0
    AI_CPU = 1
    EVENT_RECORD = 2
    STREAM_WAIT_EVENT = 3
    MEMCPY_ASYNC = 5
    NOTIFY_WAIT = 14
    NOTIFY_RECORD = 15


class StarsFunction(enum.IntEnum):
    """Function of the header of stars_soc records (cann_msprof.md 7.4)."""

    TASK_START = 0x00
    TASK_END = 0x01
    SUB_TASK_START = 0x22
    SUB_TASK_END = 0x23


STARS_SOC = device_kind(
    "stars_soc",
    "stars_soc.data",
    layout(
        64,
        ("header", "<u2", 0),  # pack_stars_header
        ("magic", "<u2", 2),
        ("stream_id", "<u2", 4),
        ("task_id", "<u2", 6),
        ("tick", "<u8", 8),
        ("sub_task_type", "u1", 16),  # 16..23 are for FFTS+ sub-tasks
        ("sub_task_id", "<u2", 18),
        ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
        ("thread_id", "<u2", 22),
    ),
    has_stars_magic,
    {"magic": STARS_MAGIC},
)
"""Start or end of a task or of an FFTS+ sub-task (`StarsFunction`)."""

TS_TRACK_MEMCPY = ts_track_record(
    "ts_track_memcpy",
    0x0B,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("state", "u1", 20),  # 0 received, 1 start, 2 end
)
"""One state of a memory copy by the task scheduler (Ascend/msprof profiling_bean ts_memcpy)."""

TS_TRACK_TASK_TYPE = ts_track_record(
    "ts_track_task_type",
    0x0C,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("task_type", "<u2", 20),
    ("state", "u1", 22),
)
"""The type of a task, reported by the task scheduler (cann_msprof.md 7.4)."""

TS_TRACK_FLIP = ts_track_record(
    "ts_track_flip",
    0x0E,
    ("stream_id", "<u2", 16),
    ("flip_number", "<u2", 18),
    ("task_id", "<u2", 22),
)
"""
A stream's 16-bit task ids begin again at ``task_id``; 65535 says that the stream was destroyed.
Tasks at or after ``tick`` on that stream belong to the next batch.
"""

TS_TRACK_BLOCK_NUMBER = ts_track_record(
    "ts_track_block_number",
    0x0F,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("num_blocks", "<u4", 20),
)
"""How many blocks a task ran with (cann_msprof.md 7.4)."""

SUB_TASK_MIX_AIC, SUB_TASK_MIX_AIV = 6, 7
FFTS_MIXED = 4
"""Types of the sub-task and of its FFTS+ where a kernel runs on both kinds of core (cann_msprof.md 7.5.2)."""
FFTS_TYPE_SHIFT = 13
MIXED_CONTEXT = 0
"""Context id of such a kernel, the only one that it has."""

STARS_SOC_V6 = device_kind(
    "stars_soc_v6",
    "stars_soc.data",
    layout(
        32,
        ("header", "<u2", 0),  # pack_stars_header
        ("magic", "<u2", 2),
        ("task_id", "<u4", 4),  # unique on the device; the stream stands in task_track
        ("tick", "<u8", 8),
    ),
    has_stars_magic,
    {"magic": STARS_MAGIC},
)
"""
Start or end of a task on the 950 (``4HQHH3L`` of msparser/data_struct_size_constant.py).

The file holds logs of blocks and of fusion tasks as well, told apart by their function.
"""

HWTS = RecordKind(
    name="hwts",
    side="device",
    stem="hwts.data",
    dtype=layout(
        64,
        ("tag", "u1", 0),  # low 3 bits 0 start or 1 end, high 4 bits the running number
        ("sqe_type", "u1", 1),
        ("magic", "<u2", 2),
        ("task_id", "<u2", 6),
        ("tick", "<u8", 8),
        ("stream_id", "<u4", 16),
    ),
    plausible=has_stars_magic,
    constants={"magic": STARS_MAGIC},
    running=("tag", 4),
    also=("hwts.aiv_data", "hwts.log.data"),
)
"""Start or end of a task (``BBHHHQ12I``, profiling_bean/struct_info/hwts_log.py)."""

HWTS_TAG_MASK, HWTS_END = 7, 1

TS_TRACK_STATE = sized_record(
    "ts_track_state",
    "ts_track.data",
    32,
    0x03,
    ("task_type", "<u2", 8),  # TsTaskType
    ("state", "<u2", 10),  # TsState
    ("stream_id", "<u2", 12),
    ("task_id", "<u2", 14),
    ("tick", "<u8", 16),
)
"""A state that a task came to, on the 310, which has no scheduler but this (``BBHLHHHHQLL``, ts_time_line.py)."""


class TsState(enum.IntEnum):
    """States of a task in `TS_TRACK_STATE` (CalculateRtsDataConst of viewer/calculate_rts_data.py)."""

    WAITING = 1
    RUNNING = 2
    COMPLETE = 3
    PENDING = 4


_COMMON = {kind: kind.value for kind in SqeType if kind.value <= SqeType.WRITE_VALUE}
STARS_TYPES: Mapping[SqeType, int] = MappingProxyType(
    {kind: kind.value for kind in SqeType if kind.value <= SqeType.C_CORE}
)
"""What a task is to STARS."""
HWTS_TYPES: Mapping[SqeType, int] = MappingProxyType({**_COMMON, SqeType.SDMA: 9})
"""What a task is to HWTS (msmodel/sqe_type_map.py), whose parser stops at a number outside this list."""
V6_TYPES: Mapping[SqeType, int] = MappingProxyType(
    {
        SqeType.AI_CORE: 0,
        SqeType.AIV: 1,
        SqeType.FUSION: 2,
        SqeType.PLACE_HOLDER: 3,
        SqeType.AICPU_H: 4,
        SqeType.AICPU_D: 5,
        SqeType.NOTIFY_RECORD: 6,
        SqeType.NOTIFY_WAIT: 7,
        SqeType.WRITE_VALUE: 8,
        SqeType.UBDMA: 9,
        SqeType.ASYNCDMA: 10,
        SqeType.SDMA: 11,
        SqeType.VPC: 12,
        SqeType.JPEGE: 13,
        SqeType.JPEGD: 14,
        SqeType.CMO: 15,
        SqeType.CCU: 16,
        SqeType.CONDITION: 20,
        SqeType.END: 21,
    }
)
"""What a task is to the 950's STARS (msmodel/sqe_type_map.py)."""
TS_TYPES: Mapping[SqeType, int] = MappingProxyType(
    {
        SqeType.AI_CORE: TsTaskType.AI_CORE.value,
        SqeType.AI_CPU: TsTaskType.AI_CPU.value,
        SqeType.EVENT_RECORD: TsTaskType.EVENT_RECORD.value,
        SqeType.EVENT_WAIT: TsTaskType.STREAM_WAIT_EVENT.value,
        SqeType.SDMA: TsTaskType.MEMCPY_ASYNC.value,
        SqeType.NOTIFY_WAIT: TsTaskType.NOTIFY_WAIT.value,
        SqeType.NOTIFY_RECORD: TsTaskType.NOTIFY_RECORD.value,
    }
)
"""What a task is to the task scheduler of the 310."""
TYPES_BY_RECORD: Mapping[str, Mapping[SqeType, int]] = MappingProxyType(
    {STARS_SOC.name: STARS_TYPES, STARS_SOC_V6.name: V6_TYPES, HWTS.name: HWTS_TYPES, TS_TRACK_STATE.name: TS_TYPES}
)

# What a scheduler does not know goes by what does the same work there: copies over PCIe and the generator of random
# numbers by a DMA engine, kernels of the AI CPU by the device's.
STAND_INS: Mapping[SqeType, tuple[SqeType, ...]] = MappingProxyType(
    {
        SqeType.PCIE_DMA: (SqeType.ASYNCDMA, SqeType.SDMA),
        SqeType.DSA: (SqeType.SDMA,),
        SqeType.AI_CPU: (SqeType.AICPU_D,),
        SqeType.AIV: (SqeType.AI_CORE,),
        SqeType.EVENT_RECORD: (SqeType.NOTIFY_RECORD,),
        SqeType.EVENT_WAIT: (SqeType.NOTIFY_WAIT,),
    }
)

TS_STARTED, TS_ENDED = 1, 2
"""States of a task in `TS_TRACK_TASK_TYPE` (0 is received), from which platform 1 takes the tasks of its AI CPU."""

KINDS: tuple[RecordKind, ...] = (
    *(STARS_SOC, STARS_SOC_V6, HWTS, TS_TRACK_STATE),
    *(TS_TRACK_MEMCPY, TS_TRACK_TASK_TYPE, TS_TRACK_FLIP, TS_TRACK_BLOCK_NUMBER),
)
