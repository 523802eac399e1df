"""Facts of sampled cores: counters of each core at a fixed pace, instead of counters of tasks."""

from __future__ import annotations

from drynpu.raw import Plausible, RecordKind, device_kind, in_range, layout, rest_is_zero
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

_LAYOUT = layout(
    96,
    ("mode", "u1", 0),  # not 0
    ("events", ("<u8", (8,)), 8),  # in the order of the events in sample.json
    ("task_cycles", "<u8", 72),
    ("time_ns", "<u8", 80),  # the device's raw monotonic clock
    ("event_count", "u1", 88),
    ("core_id", "u1", 89),
)
"""Counters of one core since its last sample (Ascend/msprof AicoreSample ``BBHHH8QQQBB6B``)."""

_LAYOUT_V6 = layout(
    112,
    ("mode", "u1", 0),  # not 0
    ("events", ("<u8", (10,)), 8),  # in the order of the events in sample.json
    ("task_cycles", "<u8", 88),
    ("tick", "<u8", 96),
    ("event_count", "u1", 104),
    ("core_id", "u1", 105),
)
"""The same on the 950, timed by the device's counter (Ascend/msprof AicoreSampleV6 ``BBHHH10QQQBB6B``)."""

_PLAUSIBLE: Plausible = in_range(rest_is_zero(90), mode=(1, 8), event_count=(0, 8))
_PLAUSIBLE_V6: Plausible = in_range(rest_is_zero(106), mode=(1, 8), event_count=(0, 10))
_CONSTANTS = {"mode": 1}

AI_CORE_SAMPLE = device_kind("ai_core_sample", "aicore.data", _LAYOUT, _PLAUSIBLE, _CONSTANTS)
AI_VECTOR_CORE_SAMPLE = device_kind("ai_vector_core_sample", "aiVectorCore.data", _LAYOUT, _PLAUSIBLE, _CONSTANTS)
# The chips with FFTS+ leave the samples of both kinds of core where they leave the counters of tasks.
FFTS_CORE_SAMPLE = device_kind("ffts_core_sample", "ffts_profile.data", _LAYOUT, _PLAUSIBLE, _CONSTANTS)
FFTS_CORE_SAMPLE_V6 = device_kind("ffts_core_sample_v6", "ffts_profile.data", _LAYOUT_V6, _PLAUSIBLE_V6, _CONSTANTS)

KINDS: tuple[RecordKind, ...] = (AI_CORE_SAMPLE, AI_VECTOR_CORE_SAMPLE, FFTS_CORE_SAMPLE, FFTS_CORE_SAMPLE_V6)
BY_NAME = {kind.name: kind for kind in KINDS}

UTILIZATION_LAYER = Layer("AI Core Utilization", 36, "NPU")
"""The table of layer numbers does not have it: it takes the next free one, as the toolkit does in such a case."""

DB_TABLES = (
    db_table("SAMPLE_PMU_TIMELINE", "deviceId timestampNs totalCycle usage:N freq:N coreId coreType"),
    db_table("SAMPLE_PMU_SUMMARY", "deviceId metric value:N coreId coreType"),
)

README = {
    "ai_core_utilization.csv": "Counters of each cube core over the whole recording, and their mean.",
    "ai_vector_core_utilization.csv": "Counters of each vector core over the whole recording, and their mean.",
}
