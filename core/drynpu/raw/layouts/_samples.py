"""Device records that a sampler leaves at its own pace: memory, frequency, voltage, traffic."""

from __future__ import annotations

from drynpu.raw.layouts._base import layout

__all__ = [
    "DDR",
    "FREQ_POINT",
    "FREQ_POINTS",
    "HBM",
    "LLC",
    "LPM_FREQ",
    "LPM_INFO",
    "LPM_POINT",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "PCIE",
    "QOS",
    "QOS_STREAMS",
]

FREQ_POINTS = 55
"""Changes that fit in one lpmFreqConv or lpmInfoConv record."""

QOS_STREAMS = 10
"""Streams (MPAM ids) of one qos record."""

NPU_MEM = layout(
    32,
    ("event", "<u4", 0),  # 0 app, 1 device
    ("ddr_bytes", "<u8", 8),
    ("hbm_bytes", "<u8", 16),
    ("tick", "<u8", 24),
)
"""A sample of the device memory in use."""

NPU_MODULE_MEM = layout(
    24,
    ("module_id", "<u4", 0),
    ("tick", "<u8", 8),
    ("reserved_bytes", "<u8", 16),
)
"""A sample of the memory a component holds."""

FREQ_POINT = layout(16, ("tick", "<u8", 0), ("mhz", "<u4", 8))

LPM_FREQ = layout(888, ("count", "<u4", 0), ("points", (FREQ_POINT, (FREQ_POINTS,)), 8))
"""Up to 55 changes of the AI core frequency; the first ``count`` are meant."""

LPM_POINT = layout(16, ("tick", "<u8", 0), ("value", "<u4", 8))

LPM_INFO = layout(888, ("count", "<u4", 0), ("type", "<u4", 4), ("points", (LPM_POINT, (FREQ_POINTS,)), 8))
"""
Up to 55 changes of what ``type`` names: 0 AI core MHz, 1 AI core mV, 2 bus mV (Ascend/msprof lpm_info_conv).
The first ``count`` are meant.
"""

HBM = layout(
    24,
    ("time_us", "<u8", 0),  # since the device's sampling began
    ("count", "<u8", 8),  # of 32 bytes, since the last sample
    ("event", "<u4", 16),  # 0 read, 1 write
    ("hbm_id", "<u4", 20),
)
"""One reading of a high bandwidth memory counter (cann_msprof.md 7.4; the layout of info.json version 1.0)."""

DDR = layout(
    20,
    ("time_us", "<u4", 0),  # since the device's sampling began
    ("count", "<u4", 4),
    ("event", "<u4", 8),  # 0 read, anything else write
    ("ddr_id", "<u4", 12),
    ("master_id", "<u4", 16),  # all ones: the sum of all masters
)
"""One reading of a DDR controller's counter (Ascend/msprof ddr parser ``5I``)."""

LLC = layout(
    24,
    ("time_us", "<u8", 0),  # since the device's sampling began
    ("count", "<u8", 8),
    ("event", "<u4", 16),
    ("l3t_id", "<u4", 20),
)
"""One reading of a last level cache counter (cann_msprof.md 7.4; the layout of info.json version 1.0)."""

_PCIE_LINKS = ("tx_p", "tx_np", "tx_cpl", "tx_np_latency", "rx_p", "rx_np", "rx_cpl")

PCIE = layout(
    96,
    ("time_ns", "<u8", 0),  # the device's raw monotonic clock
    ("device_id", "<u4", 8),
    *(
        (f"{link}_{part}", "<u4", 12 + 12 * at + 4 * number)
        for at, link in enumerate(_PCIE_LINKS)
        for number, part in enumerate(("min", "max", "avg"))
    ),
)
"""
Least, most and mean traffic of the PCIe link since the last sample, in bytes per microsecond: posted, non-posted and
completion packets sent and received, and the latency of non-posted ones (Ascend/msprof pcie parser ``Q22I``).
"""

QOS = layout(64, ("tick", "<u8", 16), ("bandwidth", ("<u4", (QOS_STREAMS,)), 24))
"""Bandwidth of up to ten memory partitions (cann_msprof.md 7.4)."""
