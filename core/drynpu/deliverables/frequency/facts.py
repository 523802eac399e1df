"""Facts of frequencies and voltages: the changes that the low power manager reports."""

from __future__ import annotations

import enum

from drynpu.raw import RecordKind, device_kind, in_range, layout, reserved_is_zero
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

POINTS = 55
"""Changes that fit in one record."""

FREQ_POINT = layout(16, ("tick", "<u8", 0), ("mhz", "<u4", 8))

LPM_FREQ = device_kind(
    "lpm_freq",
    "lpmFreqConv.data",
    layout(888, ("count", "<u4", 0), ("points", (FREQ_POINT, (POINTS,)), 8)),
    in_range(reserved_is_zero(4), count=(1, POINTS)),
)
"""Up to 55 changes of the AI core frequency; the first ``count`` are meant."""


class LpmType(enum.IntEnum):
    """What the points of a lpmInfoConv record are (Ascend/msprof lpm_info_conv)."""

    AI_CORE_MHZ = 0
    AI_CORE_MV = 1
    BUS_MV = 2


_LPM_POINT = layout(16, ("tick", "<u8", 0), ("value", "<u4", 8))

LPM_INFO = device_kind(
    "lpm_info",
    "lpmInfoConv.data",
    layout(888, ("count", "<u4", 0), ("type", "<u4", 4), ("points", (_LPM_POINT, (POINTS,)), 8)),
    in_range(type=(0, 0xFF), count=(1, POINTS)),
)
"""Up to 55 changes of what ``type`` names (`LpmType`); the first ``count`` are meant."""

KINDS: tuple[RecordKind, ...] = (LPM_FREQ, LPM_INFO)

FREQUENCY_LAYER = Layer("AI Core Freq", 15, "NPU")

DB_TABLES = (db_table("AICORE_FREQ", "deviceId timestampNs:N freq dieId:N"),)
