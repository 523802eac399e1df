"""Facts of memory bandwidth and caches: HBM, DDR, the last level caches (LLC), L2 by task."""

from __future__ import annotations

from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero

HBM = device_kind(
    "hbm",
    "hbm.data",
    layout(
        24,
        ("time_us", "<u8", 0),  # since the device's sampling began
        ("count", "<u8", 8),  # of 32 bytes, since the last sample
        ("event", "<u4", 16),  # 0 read, 1 write
        ("hbm_id", "<u4", 20),
    ),
    in_range(event=(0, 1), hbm_id=(0, 0xFF)),
)
"""One reading of a high bandwidth memory counter (cann_msprof.md 7.4; the layout of info.json version 1.0)."""

DDR = device_kind(
    "ddr",
    "ddr.data",
    layout(
        20,
        ("time_us", "<u4", 0),  # since the device's sampling began
        ("count", "<u4", 4),
        ("event", "<u4", 8),  # 0 read, anything else write
        ("ddr_id", "<u4", 12),
        ("master_id", "<u4", 16),  # all ones: the sum of all masters
    ),
    in_range(event=(0, 0xFF), ddr_id=(0, 0xFF)),
)
"""One reading of a DDR controller's counter (Ascend/msprof ddr parser ``5I``)."""

LLC = device_kind(
    "llc",
    "llc.data",
    layout(
        24,
        ("time_us", "<u8", 0),  # since the device's sampling began
        ("count", "<u8", 8),
        ("event", "<u4", 16),
        ("l3t_id", "<u4", 20),
    ),
    in_range(event=(0, 0xFF), l3t_id=(0, 0xFFF)),
)
"""One reading of a last level cache counter (cann_msprof.md 7.4; the layout of info.json version 1.0)."""

L2_CACHE = device_kind(
    "l2_cache",
    "l2_cache.data",
    layout(
        72,
        ("task_type", "<u2", 0),
        ("stream_id", "<u2", 2),
        ("task_id", "<u2", 4),
        ("events", ("<u8", (8,)), 8),  # in the order of l2CacheTaskProfilingEvents in sample.json
    ),
    in_range(reserved_is_zero(6, 2), task_type=(0, 0xFF)),
)
"""L2 cache counters of one task (cann_msprof.md 7.4)."""

KINDS: tuple[RecordKind, ...] = (HBM, DDR, LLC, L2_CACHE)
