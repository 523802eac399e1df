"""Device records about tasks: when they ran, what they counted."""

from __future__ import annotations

from drynpu.raw.layouts._base import layout

__all__ = [
    "AI_CORE_SAMPLE",
    "AI_CORE_SAMPLE_V6",
    "FFTS_PROFILE",
    "FFTS_PROFILE_V6",
    "L2_CACHE",
    "SOC_PMU",
    "SOC_PMU_V6",
    "STARS_SOC",
    "TS_TRACK_BLOCK_NUMBER",
    "TS_TRACK_FLIP",
    "TS_TRACK_MEMCPY",
    "TS_TRACK_STEP",
    "TS_TRACK_TASK_TYPE",
]

STARS_SOC = layout(
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
)
"""Start or end of a task (functions 0 and 1) or of an FFTS+ sub-task (0x22 and 0x23)."""

FFTS_PROFILE = layout(
    128,
    ("header", "<u2", 0),
    ("magic", "<u2", 2),
    ("stream_id", "<u2", 4),
    ("task_id", "<u2", 6),
    ("sub_task", "<u2", 16),  # low 8 bits type, bit 10 overflow
    ("sub_task_id", "<u2", 18),
    ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
    ("total_cycles", "<u8", 32),
    ("pmu", ("<u8", (8,)), 48),  # in the order of the events in sample.json
    ("start_tick", "<u8", 112),
    ("end_tick", "<u8", 120),
)
"""Counters of one task (function 0x28) or of one block (0x29)."""

FFTS_PROFILE_V6 = layout(
    128,
    ("header", "<u2", 0),
    ("magic", "<u2", 2),
    ("stream_id", "<u2", 4),
    ("task_id", "<u2", 6),
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
)
"""
Counters of one kind of core in a task (function 0x2a), or of one block (0x29), on the 950; a mixed task has a record
per kind of core (Ascend/msprof profiling_bean pmu_bean_v6 ``4HQ2BH2B3HI10Q2Q``, chip6_pmu_calculator).
"""

TS_TRACK_STEP = layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("index_id", "<u8", 16),
    ("model_id", "<u8", 24),
    ("stream_id", "<u2", 32),
    ("task_id", "<u2", 34),
    ("tag_id", "<u2", 36),
)
"""One mark of the step trace (function 0x0a)."""

TS_TRACK_MEMCPY = layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("state", "u1", 20),  # 0 received, 1 start, 2 end
)
"""One state of a memory copy by the task scheduler (function 0x0b; Ascend/msprof profiling_bean ts_memcpy)."""

TS_TRACK_TASK_TYPE = layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("task_type", "<u2", 20),
    ("state", "u1", 22),
)
"""The type of a task, reported by the task scheduler (function 0x0c; cann_msprof.md 7.4)."""

TS_TRACK_FLIP = layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("stream_id", "<u2", 16),
    ("flip_number", "<u2", 18),
    ("task_id", "<u2", 22),
)
"""
A stream's 16-bit task ids begin again at ``task_id`` (function 0x0e); 65535 says that the stream was destroyed.
Tasks at or after ``tick`` on that stream belong to the next batch.
"""

TS_TRACK_BLOCK_NUMBER = layout(
    40,
    ("mode", "u1", 0),
    ("function", "u1", 1),
    ("size", "<u2", 2),
    ("tick", "<u8", 8),
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("num_blocks", "<u4", 20),
)
"""How many blocks a task ran with (function 0x0f; cann_msprof.md 7.4)."""

AI_CORE_SAMPLE = layout(
    96,
    ("mode", "u1", 0),  # not 0
    ("events", ("<u8", (8,)), 8),  # in the order of the events in sample.json
    ("task_cycles", "<u8", 72),
    ("time_ns", "<u8", 80),  # the device's raw monotonic clock
    ("event_count", "u1", 88),
    ("core_id", "u1", 89),
)
"""Counters of one core since its last sample, sample-based mode (Ascend/msprof AicoreSample ``BBHHH8QQQBB6B``)."""

AI_CORE_SAMPLE_V6 = layout(
    112,
    ("mode", "u1", 0),  # not 0
    ("events", ("<u8", (10,)), 8),  # in the order of the events in sample.json
    ("task_cycles", "<u8", 88),
    ("tick", "<u8", 96),
    ("event_count", "u1", 104),
    ("core_id", "u1", 105),
)
"""The same on the 950, timed by the device's counter (Ascend/msprof AicoreSampleV6 ``BBHHH10QQQBB6B``)."""

L2_CACHE = layout(
    72,
    ("task_type", "<u2", 0),
    ("stream_id", "<u2", 2),
    ("task_id", "<u2", 4),
    ("events", ("<u8", (8,)), 8),  # in the order of l2CacheTaskProfilingEvents in sample.json
)
"""L2 cache counters of one task (cann_msprof.md 7.4)."""

SOC_PMU = layout(
    80,
    ("task_type", "<u2", 8),
    ("stream_id", "<u2", 10),
    ("task_id", "<u2", 12),
    ("data_type", "<u2", 14),  # 1 L2 cache (HA), 2 address translation (SMMU), 4 page faults
    ("events", ("<u8", (8,)), 16),  # in the order of the events in sample.json
)
"""Counters outside the cores of one task (Ascend/msprof profiling_bean soc_pmu ``2I4H8Q``)."""

SOC_PMU_V6 = layout(
    80,
    ("data_type", "<u2", 6),
    ("task_type", "<u2", 8),
    ("stream_id", "<u2", 10),
    ("task_id", "<u4", 12),
    ("events", ("<u8", (8,)), 16),
)
"""The same on the 950 (Ascend/msprof profiling_bean SocPmuChip6Bean ``6B3HI8Q``)."""
