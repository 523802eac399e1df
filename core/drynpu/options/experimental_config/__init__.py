"""
Dialect: ``torch_npu.profiler`` — ``_ExperimentalConfig``, ``schedule``, ``profile`` and the trace handler.

Every rule is a pure function that returns values and notices with the vendor's messages verbatim; facades print
the notices (code ``PYTHON_WARNING`` through ``warnings.warn``) and keep the values.
"""

from __future__ import annotations

from drynpu.options.experimental_config._config import ConfigValues, normalise_config
from drynpu.options.experimental_config._constants import (
    AIC_METRICS,
    EXPORT_TYPES,
    EXPORTS,
    HOST_SYSTEMS,
    LEVELS,
    METRIC_GROUPS,
    PROFILER_LEVELS,
    noted_variables,
)
from drynpu.options.experimental_config._parse import (
    Flags,
    build_parsed,
    framework_counters,
    framework_rates,
    framework_switches,
    parse,
)
from drynpu.options.experimental_config._profile import (
    CONFIG_FILE,
    PROFILE_FLAGS,
    STEP_MESSAGE,
    HandlerValues,
    InterfaceValues,
    ProfileValues,
    normalise_handler,
    normalise_interface,
    normalise_profile,
    normalise_schedule,
)

__all__ = [
    "AIC_METRICS",
    "CONFIG_FILE",
    "EXPORTS",
    "EXPORT_TYPES",
    "HOST_SYSTEMS",
    "LEVELS",
    "METRIC_GROUPS",
    "PROFILER_LEVELS",
    "PROFILE_FLAGS",
    "STEP_MESSAGE",
    "ConfigValues",
    "Flags",
    "HandlerValues",
    "InterfaceValues",
    "ProfileValues",
    "build_parsed",
    "framework_counters",
    "framework_rates",
    "framework_switches",
    "normalise_config",
    "normalise_handler",
    "normalise_interface",
    "normalise_profile",
    "normalise_schedule",
    "noted_variables",
    "parse",
]
