"""``profiling_options``: the JSON that TensorFlow, GE and the environment hand to the collector."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Origin, Severity
from drynpu.options._problems import Refused, shown, shown_key
from drynpu.options._request import Filters, Output, Parsed, ProfilingRequest, Sampling, Switches, leaf_values
from drynpu.options._values import Activity, BlockTrace, GraphApi, HostSystem, HostUsage, Level, LlcMode, MetricGroup
from drynpu.options.profiling_options._checks import Context, check_value
from drynpu.options.profiling_options._chips import ChipFamily, resolve_family
from drynpu.options.profiling_options._keys import GE_OPTIONS, KEYS, Key, Surface
from drynpu.options.profiling_options._names import HOST_SYSTEM_NAMES, HOST_USAGE_NAMES, LEVEL_NAMES, metrics_text
from drynpu.options.profiling_options._output import resolve_output
from drynpu.options.profiling_options._reading import Document, read_document
from drynpu.options.profiling_options._rules import Effective, apply_rules, exclusion_problems

__all__ = ["parse"]

_EMPTY_RULE: Mapping[str, Any] = {
    "training_trace": True,
    "task_trace": Level.L1,
    "task_time": Level.L1,
    "hccl": True,
    "aicpu": True,
    "aic_metrics": MetricGroup.PIPE_UTILIZATION,
}

# Remarks that say that the value used is not the one given.
_REPLACING = (NoticeCode.RULE, NoticeCode.RESET, NoticeCode.IGNORED)


def parse(
    options: object = None,
    *,
    chip: str = "5",
    strict: bool = False,
    environ: Mapping[str, str] | None = None,
    cwd: str | None = None,
    framework: bool = True,
    honour_task_trace: bool = False,
    surface: Surface = GE_OPTIONS,
) -> Parsed:
    """
    Read ``profiling_options`` (cann_msprof.md 1.2 to 1.5, 1.8).

    Parameters
    ----------
    options:
        JSON text, UTF-8 bytes, a mapping, or nothing (``None``, empty text, ``{}``: the enabled-but-empty rule).
    chip:
        ``platform_version``, family or SoC name; decides which options and counters exist.
    strict:
        Refuse what the current collector refuses: quoted numbers, the option list of 2020, backslash-newline
        continuations, more than 2048 bytes. Otherwise each of these is accepted with a notice.
    environ, cwd:
        Where ``ASCEND_WORK_PATH`` and relative paths are looked up; the process's own by default.
    framework:
        Whether a framework layer stands before the collector; without it empty options are refused.
    honour_task_trace:
        Let ``task_trace`` decide when ``task_time`` is absent, as documented, instead of being overwritten, as the
        current collector does.

    Raises
    ------
    OptionError
        With every problem of the document, one line each: key, error identifier, value, reason.
    """
    environ = os.environ if environ is None else environ
    cwd = str(Path.cwd()) if cwd is None else cwd
    family = resolve_family(chip)
    document = read_document(options, surface, strict=strict)
    if document.form == "empty":
        if not framework:
            raise OptionError([f"{surface.name}: {surface.value_id} {surface.empty_reason}"])
        return _parsed(apply_rules(_empty(document, cwd), family), family, surface)
    effective, problems = _read_values(document, Context(family, strict, surface.storage_limit_fails), surface)
    problems += exclusion_problems(effective.values, family, surface.value_id)
    try:
        effective = _place(effective, document, environ, cwd, surface)
    except OptionError as error:
        problems += error.problems
    if problems:
        raise OptionError(problems)
    return _parsed(apply_rules(effective, family, honour_task_trace=honour_task_trace), family, surface)


def _empty(document: Document, cwd: str) -> Effective:
    message = (
        "no options: training_trace, task_trace, hccl, aicpu and aic_metrics=PipeUtilization are on; "
        "the data goes to the directory the job runs in."
    )
    values = {**_EMPTY_RULE, "output": cwd}
    notice = Notice(Severity.INFO, "profiling_options", message, NoticeCode.RULE)
    return Effective(values=values, origins=dict.fromkeys(values, Origin.RULE), notices=(*document.notices, notice))


def _read_values(document: Document, context: Context, surface: Surface) -> tuple[Effective, list[str]]:
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    notices = list(document.notices)
    problems = []
    for name, given in document.values.items():
        if document.form == "legacy" and name == "op_trace":
            message = "op_trace has no counterpart among the current options; it is left out."
            notices.append(Notice(Severity.WARNING, name, message, NoticeCode.IGNORED))
            continue
        key = KEYS.get(name)
        if key is None or name not in surface.keys:
            hint = did_you_mean(name, sorted(surface.keys))
            value = f"value {shown(given)} refused"
            problems.append(f"{shown_key(name)}: {surface.unknown_id} {value}: {surface.unknown_reason}.{hint}")
            continue
        if key.note:
            notices.append(Notice(Severity.WARNING, name, key.note, NoticeCode.DEPRECATED))
        try:
            _require_family(key, context.family)
            values[name], remarks = check_value(key, given, context)
            notices += remarks
            origins[name] = Origin.RULE if any(n.code in _REPLACING for n in remarks) else Origin.GIVEN
        except Refused as refused:
            hint = f".{did_you_mean(refused.value, refused.valid)}" if isinstance(refused.value, str) else ""
            value = f"value {shown(given)} refused"
            problems.append(f"{name}: {surface.value_id} {value}: {refused.allowed}{hint}".rstrip("."))
        except OptionError as error:
            problems += error.problems
    return Effective(values=values, origins=origins, notices=tuple(notices)), problems


def _require_family(key: Key, family: ChipFamily) -> None:
    if key.families is not None and family not in key.families:
        known = ", ".join(member.label for member in ChipFamily if member in key.families)
        raise OptionError([f"{key.name}: EK0005 {key.name} is not supported on {family.label}; chips with it: {known}"])


def _place(
    effective: Effective, document: Document, environ: Mapping[str, str], cwd: str, surface: Surface
) -> Effective:
    given = effective.get("output", "")
    if document.form == "legacy" and not environ.get("ASCEND_WORK_PATH"):
        # The list of 2020 cannot carry a path.
        message = "no output: the data goes to the directory the job runs in."
        return effective.put("output", cwd, Notice(Severity.INFO, "output", message, NoticeCode.RULE))
    directory, origin = resolve_output(given, environ, cwd, value_id=surface.value_id)
    return effective.put("output", directory, None, origin)


def _parsed(effective: Effective, family: ChipFamily, surface: Surface) -> Parsed:
    request = _request(effective.get)
    spellings = {key.path: key.name for key in KEYS.values() if key.name in surface.keys}
    origins = {KEYS[name].path: origin for name, origin in effective.origins.items() if name != "task_trace"}
    # The collector always records the calls into ACL on this path.
    origins["switches.acl_api"] = Origin.RULE
    origins["activities"] = Origin.RULE
    return Parsed.build(
        request,
        dialect=surface.name,
        notices=effective.notices,
        origins=origins,
        spellings=spellings,
        effective=_spelled(request, family, surface),
    )


def _request(get: Any) -> ProfilingRequest:
    switches = Switches(
        training_trace=get("training_trace", False),
        communication=get("hccl", False),
        aicpu=get("aicpu", False),
        l2_cache=get("l2", False),
        tx=get("msproftx", False),
        runtime_api=get("runtime_api", False),
        graph_api=get("ge_api", GraphApi.OFF),
        task_memory=get("task_memory", False),
        task_scheduler=get("task_tsfw", False),
        task_block=get("task_block", BlockTrace.OFF),
        instructions=get("instr_profiling", False),
    )
    filters = Filters(
        first_forward_op=get("fp_point", ""),
        last_backward_op=get("bp_point", ""),
        op_types=get("optype", ()),
    )
    return ProfilingRequest(
        level=get("task_time", Level.L1),
        activities=(Activity.DEVICE,),
        aic_metrics=get("aic_metrics", MetricGroup.NONE),
        switches=switches,
        filters=filters,
        sampling=_sampling(get),
        output=Output(directory=get("output", None), storage_limit_mb=get("storage_limit", None)),
    )


def _sampling(get: Any) -> Sampling:
    return Sampling(
        hardware_memory_hz=get("sys_hardware_mem_freq", None),
        service_flow=get("sys_mem_serviceflow", ""),
        llc=get("llc_profiling", LlcMode.READ),
        io_hz=get("sys_io_sampling_freq", None),
        interconnection_hz=get("sys_interconnection_freq", None),
        cpu_hz=get("sys_cpu_freq", None),
        dvpp_hz=get("dvpp_freq", None),
        low_power_hz=get("sys_lp_freq", None),
        instruction_cycles=get("instr_profiling_freq", None),
        host_systems=get("host_sys", ()),
        host_usage=get("host_sys_usage", ()),
        host_usage_hz=get("host_sys_usage_freq", 50),
    )


def _spelled(request: ProfilingRequest, family: ChipFamily, surface: Surface) -> dict[str, object]:
    """Return the effective options as the collector would spell them, in the order of the key table."""
    leaves = leaf_values(request)
    spelled = {}
    for name, key in KEYS.items():
        # task_trace never decides by itself: task_time carries its effect.
        if name == "task_trace" or name not in surface.keys or (key.families and family not in key.families):
            continue
        value = f"{leaves[key.path]}MB" if name == "storage_limit" and leaves[key.path] else _spell(leaves[key.path])
        if value not in (None, ""):
            spelled[name] = value
    return spelled


def _spell(value: Any) -> object:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Level):
        return LEVEL_NAMES[value]
    if isinstance(value, MetricGroup) or hasattr(value, "events"):
        return metrics_text(value)
    if isinstance(value, tuple):
        return ",".join(_spell_item(item) for item in value)
    return value.value if isinstance(value, (GraphApi, BlockTrace, LlcMode)) else value


def _spell_item(item: Any) -> str:
    if isinstance(item, HostSystem):
        return HOST_SYSTEM_NAMES[item]
    return HOST_USAGE_NAMES[item] if isinstance(item, HostUsage) else str(item)
