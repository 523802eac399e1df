"""
Dialect: the options JSON of the collector (``profiling_options``, GE options, ``PROFILING_OPTIONS``).

The keys are declared once in `KEYS`; a `Surface` says which of them it takes and how it refuses the rest. acl.json
and the ACL configuration calls are further surfaces over the same keys.
"""

from __future__ import annotations

from drynpu.options.profiling_options._checks import WIDE_RANGE_MESSAGE
from drynpu.options.profiling_options._environment import MODE_VARIABLE, ProfilingMode, Start, resolve_start
from drynpu.options.profiling_options._keys import ACL_JSON, KEYS, Key, range_facts
from drynpu.options.profiling_options._model import spell
from drynpu.options.profiling_options._names import (
    HOST_SYSTEM_WORDS,
    MAX_METRICS_LENGTH,
    MAX_OP_TYPES_LENGTH,
    METRIC_NAMES,
    default_metric_group,
    listed_words,
    metric_groups,
    metrics_text,
    series_among,
    words_on,
)
from drynpu.options.profiling_options._output import (
    forbidden_characters,
    prepare_output,
    resolve_output,
)
from drynpu.options.profiling_options._parse import parse
from drynpu.options.profiling_options._reading import LEGACY_WORDS
from drynpu.options.profiling_options._sample import pmu_events, sample_parameters

__all__ = [
    "ACL_JSON",
    "HOST_SYSTEM_WORDS",
    "KEYS",
    "LEGACY_WORDS",
    "MAX_METRICS_LENGTH",
    "MAX_OP_TYPES_LENGTH",
    "METRIC_NAMES",
    "MODE_VARIABLE",
    "WIDE_RANGE_MESSAGE",
    "Key",
    "ProfilingMode",
    "Start",
    "default_metric_group",
    "forbidden_characters",
    "listed_words",
    "metric_groups",
    "metrics_text",
    "parse",
    "pmu_events",
    "prepare_output",
    "range_facts",
    "resolve_output",
    "resolve_start",
    "sample_parameters",
    "series_among",
    "spell",
    "words_on",
]
