"""Facts of the counters of tasks: what cores counted while a task or one of its blocks ran."""

from __future__ import annotations

import enum

from drynpu.raw import STARS_MAGIC, RecordKind, device_kind, has_stars_magic, layout, sized_record


class PmuFunction(enum.IntEnum):
    """Function of the header of ffts_profile records: whose counters they are (cann_msprof.md 7.4)."""

    CONTEXT_PMU = 0x28
    BLOCK_PMU = 0x29
    CONTEXT_PMU_V6 = 0x2A


FFTS_PROFILE = device_kind(
    "ffts_profile",
    "ffts_profile.data",
    layout(
        128,
        ("header", "<u2", 0),
        ("magic", "<u2", 2),
        ("stream_id", "<u2", 4),
        ("task_id", "<u2", 6),
        ("sub_task", "<u2", 16),  # low 8 bits type, bit 10 overflow
        ("sub_task_id", "<u2", 18),
        ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
        ("sub_block_id", "<u2", 28),  # of block records
        ("block_id", "<u2", 30),
        ("total_cycles", "<u8", 32),
        ("pmu", ("<u8", (8,)), 48),  # in the order of the events in sample.json
        ("start_tick", "<u8", 112),
        ("end_tick", "<u8", 120),
    ),
    has_stars_magic,
    {"magic": STARS_MAGIC, "header": PmuFunction.CONTEXT_PMU},
)
"""Counters of one task or of one block."""

# The same file on the 950: which of the two it holds follows from the chip.
FFTS_PROFILE_V6 = device_kind(
    "ffts_profile_v6",
    "ffts_profile.data",
    layout(
        128,
        ("header", "<u2", 0),
        ("magic", "<u2", 2),
        ("task_id", "<u4", 4),  # unique on the device
        ("total_cycles", "<u8", 8),
        ("context_type", "u1", 16),
        ("flags", "u1", 17),  # bit 0 main core, bit 1 mixed task, bit 2 overflow
        ("core_type", "u1", 20),  # bit 0: 0 cube, 1 vector
        ("core_id", "u1", 21),
        ("sub_block_id", "<u2", 24),
        ("block_id", "<u2", 26),
        ("pmu", ("<u8", (10,)), 32),  # in the order of the events in sample.json
        ("start_tick", "<u8", 112),
        ("end_tick", "<u8", 120),
    ),
    has_stars_magic,
    {"magic": STARS_MAGIC, "header": PmuFunction.CONTEXT_PMU_V6},
)
"""
Counters of one kind of core in a task, or of one block, on the 950; a mixed task has a record per kind of core
(Ascend/msprof profiling_bean pmu_bean_v6 ``4HQ2BH2B3HI10Q2Q``, chip6_pmu_calculator).
"""

AICORE = RecordKind(
    name="aicore",
    side="device",
    stem="aicore.data",
    dtype=layout(
        128,
        ("tag", "u1", 0),  # high 4 bits the running number
        ("magic", "<u2", 2),
        ("task_id", "<u2", 6),
        ("total_cycles", "<u8", 16),
        ("pmu", ("<u8", (8,)), 32),  # in the order of the events in sample.json
        ("stream_id", "<u4", 96),
    ),
    plausible=has_stars_magic,
    constants={"magic": STARS_MAGIC},
    running=("tag", 4),
    also=("aiVectorCore.data",),
)
"""
Counters of one task before STARS: the n-th record of a stream and task id is of the n-th such task (Ascend/msprof
analysis/profiling_bean/struct_info/aic_pmu.py, ``BBHHHII10Q8I``).
"""

AICORE_TS = sized_record(
    "aicore_ts",
    "aicore.data",
    112,
    0x04,
    ("task_type", "<u2", 8),  # TsTaskType
    ("stream_id", "<u2", 10),
    ("task_id", "<u2", 12),
    ("overflow", "<u2", 14),
    ("overflow_cycles", "<u8", 16),
    ("pmu", ("<u8", (8,)), 24),  # in the order of the events in sample.json
    ("total_cycles", "<u8", 88),
    ("tick", "<u8", 96),
    ("block_num", "<u2", 104),
)
"""Counters of one task on the 310 (``BBHLHHHHQ8QQQH3H``, profiling_bean/struct_info/event_counter.py)."""

KINDS: tuple[RecordKind, ...] = (FFTS_PROFILE, FFTS_PROFILE_V6, AICORE, AICORE_TS)
