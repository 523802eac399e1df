"""Effective values of a command line as the neutral request and the run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from drynpu.options._request import Output, ProfilingRequest, with_values
from drynpu.options._table import Kind
from drynpu.options._values import Activity, ExportType, Level, MetricGroup, Metrics
from drynpu.options.msprof_cli._flags import FLAGS, sampled_items
from drynpu.options.msprof_cli._launch import Launch
from drynpu.options.msprof_cli._rules import FlagValues
from drynpu.options.profiling_options import default_metric_group, words_on

# The command leaves the database beside the texts unless --type says otherwise (cann_msprof.md 6.2).
_BASE = ProfilingRequest(activities=(Activity.DEVICE,), output=Output(export=(ExportType.TEXT, ExportType.DB)))


def build_request(flags: FlagValues, directory: str) -> tuple[ProfilingRequest, list[str]]:
    """Return the request, and the paths whose value follows from a rule."""
    values = flags.counting
    alone = flags.on("instr-profiling")
    traced = flags.mode.runs and not alone
    level = values.get("task-time", values.get("task-trace", Level.L1)) if traced else Level.NONE
    metrics, sampled_hz = _counters(flags, values, level, alone=alone)
    counted = alone and flags.platform.options.instruction_interval
    cycles = "instr-profiling-freq"
    request = with_values(
        _BASE,
        {
            "sampling.llc": next(iter(words_on(flags.platform, Kind.LLC).values())),
            **{FLAGS[name].path: value for name, value in values.items() if FLAGS[name].in_request},
            **dict(_rates(flags, values)),
            "level": level,
            "aic_metrics": metrics,
            "switches.acl_api": traced and values.get("ascendcl", True),
            # Key points of iterations come with any task time (cann_msprof.md 1.7).
            "switches.training_trace": level >= Level.L0,
            "sampling.ai_core_hz": sampled_hz,
            "sampling.instruction_cycles": values.get(cycles, _default(cycles)) if counted else None,
            "output.directory": directory,
        },
    )
    rules = ["activities", "switches.training_trace"]
    if not traced:
        rules += ["level", "switches.acl_api"]
    if metrics is MetricGroup.NONE:
        rules.append("aic_metrics")
    return request, rules


def _counters(flags: FlagValues, values: dict[str, Any], level: Level, *, alone: bool) -> tuple[Metrics, int | None]:
    """Return the group, and the rate where counters are read by time."""
    group = values.get("aic-metrics", default_metric_group(flags.platform))
    hertz = values.get("aic-freq", _default("aic-freq"))
    if alone:
        return MetricGroup.NONE, None
    if not flags.mode.runs:
        return (group, hertz) if values.get("ai-core", False) else (MetricGroup.NONE, None)
    if level < Level.L1 or not values.get("ai-core", True):
        return MetricGroup.NONE, None
    return group, hertz if values.get("aic-mode") == "sample-based" else None


def _default(name: str) -> int:
    return int(FLAGS[name].default)


def _rates(flags: FlagValues, values: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    """Yield path and rate of every item sampled by time; ``None`` where its switch is off."""
    for switch, rate in sampled_items().items():
        on = values.get(switch.name, switch.is_on(flags.platform) and switch.default == "on")
        yield rate.path, values.get(rate.name, _default(rate.name)) if on else None


def build_launch(flags: FlagValues) -> Launch:
    """Return the run around the request."""
    get = flags.counting.get
    return Launch(
        mode=flags.mode,
        application=get("application", flags.application),
        environment=get("environment", {}),
        pids=get("pid", ()),
        devices=get("sys-devices", ()),
        period_s=get("sys-period"),
        host_pid=get("host-sys-pid"),
        python_path=get("python-path"),
    )
