"""A request and its run, back as flags."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from drynpu.options._request import ProfilingRequest, leaf_values
from drynpu.options._values import ExportType, MetricGroup
from drynpu.options.msprof_cli._flags import FLAGS, sampled_items
from drynpu.options.msprof_cli._launch import Launch, LaunchMode
from drynpu.options.profiling_options import metrics_text, spell
from drynpu.platforms import DEFAULT_CHIP, resolve_platform

# The command refuses these beside --instr-profiling, even with their default values.
_NOT_WITH_INSTRUCTIONS = ("task-time", "ascendcl", "aic-metrics")


def to_flags(request: ProfilingRequest, launch: Launch | None = None, *, chip: str = DEFAULT_CHIP) -> dict[str, str]:
    """
    Return the flags, by name without hyphens and in the order of the table, that give *request* and *launch* again.

    What has no flag (shapes and stacks of a framework, a schedule) is left out, as is what *chip* has no flag for.
    Raises `OptionError` for an unknown chip.
    """
    launch = launch or Launch()
    platform = resolve_platform(chip)
    texts = dict(_flags(request, launch))
    if request.window.interactive:
        # The command refuses even "off" beside --dynamic=on.
        texts.pop("sys-cpu-profiling", None)
    runs = launch.mode.runs
    return {
        name: texts[name]
        for name, flag in FLAGS.items()
        if name in texts and flag.is_on(platform) and (flag.with_application if runs else flag.without_application)
    }


def _flags(request: ProfilingRequest, launch: Launch) -> Iterator[tuple[str, str]]:
    yield from _launched(launch)
    leaves = leaf_values(request)
    for name, flag in FLAGS.items():
        if name in ("task-trace", "type", "storage-limit", "aic-freq") or not flag.in_request:
            continue
        value = leaves[flag.path]
        if name in _NOT_WITH_INSTRUCTIONS and request.switches.instructions:
            continue
        text = spell(value)
        if text not in (None, ""):
            yield name, str(text)
    # The switch of a sampled item carries no value in the model: it is on where there is a rate.
    for switch, rate in sampled_items().items():
        yield switch.name, "off" if leaves[rate.path] is None else "on"
    yield from _counters(request)
    if request.output.storage_limit_mb is not None:
        yield "storage-limit", f"{request.output.storage_limit_mb}MB"
    yield "type", "text" if ExportType.TEXT in request.output.export else "db"


def _counters(request: ProfilingRequest) -> Iterator[tuple[str, str]]:
    if request.switches.instructions:
        return
    on = request.aic_metrics is not MetricGroup.NONE
    yield "ai-core", "on" if on else "off"
    if on:
        hertz = request.sampling.ai_core_hz
        yield "aic-mode", "task-based" if hertz is None else "sample-based"
        yield "aic-metrics", metrics_text(request.aic_metrics)
        if hertz is not None:
            yield "aic-freq", str(hertz)


def _launched(launch: Launch) -> Iterator[tuple[str, str]]:
    if launch.application:
        yield "application", shlex.join(launch.application)
    if launch.environment:
        yield "environment", ";".join(f"{name}={value}" for name, value in launch.environment.items())
    if launch.pids:
        yield "pid", ",".join(map(str, launch.pids))
    if launch.mode is LaunchMode.DEVICES:
        yield "sys-devices", ",".join(map(str, launch.devices)) or "all"
    if launch.period_s is not None:
        yield "sys-period", str(launch.period_s)
    if launch.host_pid is not None:
        yield "host-sys-pid", str(launch.host_pid)
    if launch.python_path is not None:
        yield "python-path", launch.python_path
