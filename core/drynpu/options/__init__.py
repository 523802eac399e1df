"""
What the user asked for: the one neutral option model, its dialects, and what there is to say about it.

`ProfilingRequest` is the model; `from_mapping`, `from_json` and `from_yaml` build it and report all
problems of a document together. The subpackages `profiling_options`, `acl_json`, `msprof_cli` and `experimental_config`
read vendor spellings into it, with notices and the origin of every value; `acl_config` holds the vocabulary of the ACL
calls. `deliverables` says which files a request leaves on a chip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu._spelling import did_you_mean
    from drynpu.options import acl_config, acl_json, experimental_config, msprof_cli, profiling_options
    from drynpu.options._building import from_json, from_mapping, from_yaml, parse_request, to_mapping
    from drynpu.options._conditions import Condition
    from drynpu.options._deliverables import (
        NOT_SIMULATED,
        Deliverable,
        DeliverableKind,
        Needs,
        deliverables,
        files_of_option,
        known_deliverables,
        unsimulated_of_option,
    )
    from drynpu.options._documents import load_json, load_yaml
    from drynpu.options._notices import Notice, NoticeCode, Origin, Severity, remark, warning
    from drynpu.options._problems import shown, shown_key
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
    from drynpu.options._schedule import Action, Schedule
    from drynpu.options._settings import Clock, Settings, TorchDevice
    from drynpu.options._table import Kind, OptionRow, fixed_hz, option_names, option_rows, option_spellings
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
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "NOT_SIMULATED",
    "Action",
    "Activity",
    "BlockTrace",
    "Clock",
    "Condition",
    "CustomEvents",
    "Deliverable",
    "DeliverableKind",
    "ExportType",
    "Filters",
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
    "OptionRow",
    "Origin",
    "Output",
    "Parsed",
    "ProfilingRequest",
    "Range",
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
    "did_you_mean",
    "experimental_config",
    "files_of_option",
    "fixed_hz",
    "framework_counters",
    "framework_rates",
    "framework_switches",
    "from_json",
    "from_mapping",
    "from_yaml",
    "is_on",
    "known_deliverables",
    "leaf_values",
    "load_json",
    "load_yaml",
    "msprof_cli",
    "option_names",
    "option_rows",
    "option_spellings",
    "parse_request",
    "profiling_options",
    "remark",
    "shown",
    "shown_key",
    "to_mapping",
    "unsimulated_of_option",
    "value_at",
    "warning",
    "with_values",
]
