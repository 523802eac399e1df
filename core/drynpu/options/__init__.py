"""
What the user asked for: the one neutral option model, its dialects, and what there is to say about it.

`ProfilingRequest` is the model; `from_mapping`, `from_json`, `from_yaml` and `from_keywords` build it and report all
problems of a document together. The subpackages `profiling_options`, `acl_json`, `msprof_cli` and `experimental_config`
read vendor spellings into it, with notices and the origin of every value; `acl_config` holds the vocabulary of the ACL
calls. `explain` turns the result into readable rows, `deliverables` says which files it leaves on a chip.
"""

from __future__ import annotations

from drynpu.options import acl_config, acl_json, experimental_config, msprof_cli, profiling_options
from drynpu.options._building import from_json, from_keywords, from_mapping, from_yaml, parse_request, to_mapping
from drynpu.options._deliverables import (
    NOT_SIMULATED,
    Deliverable,
    DeliverableKind,
    Needs,
    deliverables,
    files_of_option,
    known_deliverables,
)
from drynpu.options._detect import detect_dialect, parse_document, parse_mapping
from drynpu.options._explain import Explanation, explain
from drynpu.options._footprint import Footprint, RecordCost, estimate_footprint
from drynpu.options._notices import Notice, NoticeCode, Origin, Severity
from drynpu.options._request import (
    Filters,
    Output,
    Parsed,
    ProfilingRequest,
    Sampling,
    Switches,
    Window,
    is_on,
    leaf_values,
    value_at,
    with_values,
)
from drynpu.options._schedule import Action, Schedule, lint_schedule
from drynpu.options._settings import Clock, Settings, TorchDevice
from drynpu.options._table import Kind, fixed_hz, option_names, option_spellings
from drynpu.options._values import (
    Activity,
    BlockTrace,
    CustomEvents,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    Metrics,
    Range,
)
from drynpu.options.experimental_config import framework_counters, framework_rates, framework_switches

__all__ = [
    "NOT_SIMULATED",
    "Action",
    "Activity",
    "BlockTrace",
    "Clock",
    "CustomEvents",
    "Deliverable",
    "DeliverableKind",
    "Explanation",
    "ExportType",
    "Filters",
    "Footprint",
    "GraphApi",
    "HostSystem",
    "HostUsage",
    "Kind",
    "Level",
    "LlcMode",
    "MetricGroup",
    "Metrics",
    "Needs",
    "Notice",
    "NoticeCode",
    "Origin",
    "Output",
    "Parsed",
    "ProfilingRequest",
    "Range",
    "RecordCost",
    "Sampling",
    "Schedule",
    "Settings",
    "Severity",
    "Switches",
    "TorchDevice",
    "Window",
    "acl_config",
    "acl_json",
    "deliverables",
    "detect_dialect",
    "estimate_footprint",
    "experimental_config",
    "explain",
    "files_of_option",
    "fixed_hz",
    "framework_counters",
    "framework_rates",
    "framework_switches",
    "from_json",
    "from_keywords",
    "from_mapping",
    "from_yaml",
    "is_on",
    "known_deliverables",
    "leaf_values",
    "lint_schedule",
    "msprof_cli",
    "option_names",
    "option_spellings",
    "parse_document",
    "parse_mapping",
    "parse_request",
    "profiling_options",
    "to_mapping",
    "value_at",
    "with_values",
]
