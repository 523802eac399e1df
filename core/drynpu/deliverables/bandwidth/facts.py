"""Facts of memory bandwidth and caches: HBM, DDR, the last level caches (LLC), L2 by task."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu.layouts.result_files import L2_CACHE_FILE
from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

MEMORY_OPTION, CACHE_OPTION = "sampling.hardware_memory_hz", "switches.l2_cache"

READ, WRITE = 0, 1
"""Events of HBM and DDR counters; of DDR anything but 0 is a write (Ascend/msprof)."""

HBM = device_kind(
    "hbm",
    "hbm.data",
    layout(
        24,
        ("time_us", "<u8", 0),  # since the device's sampling began
        ("count", "<u8", 8),  # of HBM_BYTES, since the last sample
        ("event", "<u4", 16),  # READ or WRITE
        ("hbm_id", "<u4", 20),
    ),
    in_range(event=(0, 1), hbm_id=(0, 0xFF)),
)
"""One reading of a high bandwidth memory counter (cann_msprof.md 7.4; the layout of info.json version 1.0)."""

LATEST_NS = 1 << 60
"""No machine has been up for 36 years: tells records from what lies between their bounds."""

HBM_2 = device_kind(
    "hbm_2",
    "hbm.data",
    layout(
        32,
        ("event", "<u4", 8),
        ("hbm_id", "<u4", 12),
        ("count", "<u8", 16),
        ("monotonic_ns", "<u8", 24),
    ),
    in_range(event=(0, 1), hbm_id=(0, 0xFF), monotonic_ns=(0, LATEST_NS)),
)
"""The same in a recording whose info.json has version 2.0 (Ascend/msprof analysis/msparser/hardware/hbm_parser.py)."""

HBM_BYTES = 32
"""Of one HBM count (Ascend/msprof ``hbm_model``)."""

ALL_MASTERS = 0xFFFF_FFFF

DDR = device_kind(
    "ddr",
    "ddr.data",
    layout(
        20,
        ("time_us", "<u4", 0),  # since the device's sampling began
        ("count", "<u4", 4),
        ("event", "<u4", 8),  # READ, anything else write
        ("ddr_id", "<u4", 12),
        ("master_id", "<u4", 16),  # ALL_MASTERS: their sum
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

LLC_2 = device_kind(
    "llc_2",
    "llc.data",
    layout(
        24,
        ("count", "<u4", 4),
        ("event", "<u4", 8),
        ("l3t_id", "<u4", 12),
        ("monotonic_ns", "<u8", 16),
    ),
    in_range(event=(0, 0xFF), l3t_id=(0, 0xFFF), monotonic_ns=(0, LATEST_NS)),
)
"""The same in a recording whose info.json has version 2.0 (Ascend/msprof analysis/msparser/hardware/llc_parser.py)."""

BY_VERSION: Mapping[str, tuple[RecordKind, RecordKind]] = MappingProxyType({"2.0": (HBM_2, LLC_2)})
"""HBM and LLC by ``version`` of info.json; any other has `HBM` and `LLC`."""

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


@frozen(kw_only=True)
class LlcEvents:
    """
    Events of the last level cache in one mode (Ascend/msprof ``llc_model``).

    ``traffic`` are requests of all kinds (reads, writes), ``requests`` and ``hits`` depend on the mode; all are sums.
    Nothing says what their summands are but the ones named ``first_``: the others stay 0. The names come from the
    public kernel driver of the same cache (``hisi_uncore_l3c_pmu``): 0x00 and 0x01 are reads and writes, 0x20 and 0x21
    reads and writes of the devices' side, 0x22 and 0x23 their hits.
    """

    traffic: tuple[int, int] = (0x00, 0x01)
    requests: tuple[int, ...]
    hits: tuple[int, ...]
    first_request: int
    first_hit: int

    @property
    def codes(self) -> tuple[int, ...]:
        """Everything that is counted."""
        return tuple(sorted({*self.traffic, *self.requests, *self.hits}))


LLC_MODES = {
    "read": LlcEvents(requests=(0x20, 0x34), hits=(0x02, 0x13, 0x22, 0x36), first_request=0x20, first_hit=0x22),
    "write": LlcEvents(requests=(0x21, 0x35), hits=(0x03, 0x14, 0x23, 0x37), first_request=0x21, first_hit=0x23),
}
"""``llc_profiling`` of sample.json -> the events of that mode."""

HBM_STACKS = 4
"""Stacks of memory that the parser takes for granted (Ascend/msprof analysis/msmodel/hardware/hbm_model.py)."""
LLC_BYTES = 4096
"""What the parser takes one throughput count for: 64 bytes, times 64 (Ascend/msprof ``llc_model``)."""

KINDS: tuple[RecordKind, ...] = (HBM, HBM_2, DDR, LLC, LLC_2, L2_CACHE)

DDR_LAYER, HBM_LAYER, LLC_LAYER = Layer("DDR", 18, "NPU"), Layer("HBM", 24, "NPU"), Layer("LLC", 27, "NPU")

DB_TABLES = (
    db_table("HBM", "deviceId timestampNs bandwidth:N hbmId type"),
    db_table("DDR", "deviceId timestampNs read:N write:N"),
    db_table("LLC", "deviceId llcId timestampNs hitRate:R throughput mode"),
)

README = {
    "ddr.csv": "Bandwidth of the device's memory, averaged over all samples.",
    "hbm.csv": "Bandwidth of the device's memory by unit, averaged over all samples.",
    L2_CACHE_FILE: "Victims and, where it is shown, hits of L2 by task.",
    "llc_read_write.csv": "Hit rate and traffic of the last level caches, averaged over all samples.",
}
