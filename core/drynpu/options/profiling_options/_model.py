"""From the effective values of a collector document to the neutral model, and back to the collector's spelling."""

from __future__ import annotations

from typing import Any

from drynpu.options._notices import Origin
from drynpu.options._request import Parsed, ProfilingRequest, leaf_values, with_values
from drynpu.options._table import Kind
from drynpu.options._values import Activity, BlockTrace, GraphApi, HostSystem, HostUsage, Level, LlcMode, MetricGroup
from drynpu.options.profiling_options._keys import COLLECTOR_KEYS, Surface
from drynpu.options.profiling_options._names import HOST_SYSTEM_NAMES, HOST_USAGE_NAMES, LEVEL_NAMES, metrics_text
from drynpu.options.profiling_options._rules import Effective
from drynpu.platforms import Platform

# Counters are off where their key is left out (cann_msprof.md 1.3).
_BASE = ProfilingRequest(activities=(Activity.DEVICE,), aic_metrics=MetricGroup.NONE)


def build_parsed(effective: Effective, platform: Platform, surface: Surface) -> Parsed:
    """Return what a document with these effective values amounts to."""
    # task_trace never decides by itself: task_time carries its effect.
    paths = {name: COLLECTOR_KEYS[name].path for name in effective.values if name != "task_trace"}
    request = with_values(_BASE, {path: effective.values[name] for name, path in paths.items()})
    table = surface.table
    origins = {path: effective.origins[name] for name, path in paths.items()}
    if "ascendcl" not in table:
        # The collector always records the calls into ACL on this path.
        origins["switches.acl_api"] = Origin.RULE
    origins["activities"] = Origin.RULE
    return Parsed.build(
        request,
        dialect=surface.name,
        notices=effective.notices,
        origins=origins,
        spellings={key.path: key.name for key in table.values()},
        effective=_spelled(request, platform, surface),
    )


def _spelled(request: ProfilingRequest, platform: Platform, surface: Surface) -> dict[str, object]:
    """Return the effective options as the collector would spell them, in the order of the key table."""
    leaves = leaf_values(request)
    spelled = {}
    for name, key in surface.table.items():
        if name != "task_trace" and key.is_on(platform):
            value = spell(leaves[key.path])
            spelled[name] = f"{value}MB" if key.kind is Kind.STORAGE and value else value
    return {name: value for name, value in spelled.items() if value not in (None, "")}


def spell(value: Any) -> object:
    """Return a neutral value as the collector spells it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Level):
        return LEVEL_NAMES[value]
    if isinstance(value, MetricGroup) or hasattr(value, "events"):
        return metrics_text(value)
    if isinstance(value, tuple):
        return ",".join(_spell_item(item) for item in value)
    return value.value if isinstance(value, (GraphApi, BlockTrace, LlcMode)) else value


def _spell_item(item: object) -> str:
    if isinstance(item, HostSystem):
        return HOST_SYSTEM_NAMES[item]
    return HOST_USAGE_NAMES[item] if isinstance(item, HostUsage) else str(item)
