"""Facts of the counters outside the cores: caches, address translation and page faults of each task."""

from __future__ import annotations

import enum

from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero


class SocPmuType(enum.IntEnum):
    """What the counters of a socpmu record belong to."""

    L2_CACHE = 1
    SMMU = 2
    PAGE_FAULT = 4


SOC_PMU = device_kind(
    "soc_pmu",
    "socpmu.data",
    layout(
        80,
        ("task_type", "<u2", 8),
        ("stream_id", "<u2", 10),
        ("task_id", "<u2", 12),
        ("data_type", "<u2", 14),  # SocPmuType
        ("events", ("<u8", (8,)), 16),  # in the order of the events in sample.json
    ),
    in_range(reserved_is_zero(0, 8), data_type=(0, 0xFF)),
)
"""Counters outside the cores of one task (Ascend/msprof profiling_bean soc_pmu ``2I4H8Q``)."""

SOC_PMU_V6 = device_kind(
    "soc_pmu_v6",
    "socpmu.data",
    layout(
        80,
        ("data_type", "<u2", 6),
        ("task_type", "<u2", 8),
        ("stream_id", "<u2", 10),
        ("task_id", "<u4", 12),
        ("events", ("<u8", (8,)), 16),
    ),
    in_range(reserved_is_zero(0, 6), data_type=(0, 0xFF)),
)
"""The same on the 950 (Ascend/msprof profiling_bean SocPmuChip6Bean ``6B3HI8Q``)."""

SMMU_REQUESTS, SMMU_HITS, SMMU_MISSES = (0x8A,), (0x8C, 0x8D), (0x2,)
"""Events of the memory management unit, as sums (Ascend/msprof ``soc_pmu_config``)."""
EVENTS_PER_UNIT = 8

KINDS: tuple[RecordKind, ...] = (SOC_PMU, SOC_PMU_V6)
