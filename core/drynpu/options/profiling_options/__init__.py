"""
Dialect: the options JSON of the collector (``profiling_options``, GE options, ``PROFILING_OPTIONS``).

The keys are declared once in `KEYS`; a `Surface` says which of them a way in takes and how it refuses. acl.json
and the ACL configuration calls are further surfaces over the same keys.
"""

from __future__ import annotations

from drynpu.options.profiling_options._chips import (
    ChipClass,
    ChipFamily,
    default_metric_group,
    metric_groups,
    resolve_class,
    resolve_family,
)
from drynpu.options.profiling_options._environment import ProfilingMode, Start, resolve_start
from drynpu.options.profiling_options._keys import ACL_JSON, GE_OPTIONS, KEYS, Key, Kind, Surface
from drynpu.options.profiling_options._model import spell
from drynpu.options.profiling_options._names import (
    HOST_SYSTEM_NAMES,
    HOST_USAGE_NAMES,
    LEVEL_NAMES,
    METRIC_NAMES,
    SAMPLE_LEVELS,
    metrics_text,
)
from drynpu.options.profiling_options._output import (
    INVALID_CHARACTER_REASON,
    NOT_ACCESSIBLE_REASON,
    forbidden_characters,
    prepare_output,
    resolve_output,
)
from drynpu.options.profiling_options._parse import parse
from drynpu.options.profiling_options._reading import LEGACY_WORDS
from drynpu.options.profiling_options._sample import pmu_events, sample_parameters

__all__ = [
    "ACL_JSON",
    "GE_OPTIONS",
    "HOST_SYSTEM_NAMES",
    "HOST_USAGE_NAMES",
    "INVALID_CHARACTER_REASON",
    "KEYS",
    "LEGACY_WORDS",
    "LEVEL_NAMES",
    "METRIC_NAMES",
    "NOT_ACCESSIBLE_REASON",
    "SAMPLE_LEVELS",
    "ChipClass",
    "ChipFamily",
    "Key",
    "Kind",
    "ProfilingMode",
    "Start",
    "Surface",
    "default_metric_group",
    "forbidden_characters",
    "metric_groups",
    "metrics_text",
    "parse",
    "pmu_events",
    "prepare_output",
    "resolve_class",
    "resolve_family",
    "resolve_output",
    "resolve_start",
    "sample_parameters",
    "spell",
]
