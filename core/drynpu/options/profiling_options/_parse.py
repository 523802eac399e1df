"""``profiling_options``: the JSON that TensorFlow, GE and the environment hand to the collector."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._notices import Notice, NoticeCode, Origin, remark, warning
from drynpu.options._problems import Refused, shown, shown_key
from drynpu.options._request import Parsed
from drynpu.options._values import Level, MetricGroup
from drynpu.options.profiling_options._checks import ValueContext, check_value
from drynpu.options.profiling_options._keys import GE_OPTIONS, Key, Surface
from drynpu.options.profiling_options._model import build_parsed
from drynpu.options.profiling_options._names import default_metric_group
from drynpu.options.profiling_options._output import resolve_output
from drynpu.options.profiling_options._reading import Document, current_name, elsewhere, read_document
from drynpu.options.profiling_options._rules import Effective, acl_defaults, apply_rules, exclusion_problems
from drynpu.platforms import DEFAULT_CHIP, Platform, resolve_platform

# Options that are on where a framework turns profiling on without any (cann_msprof.md 1.2).
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
    chip: str = DEFAULT_CHIP,
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
        ``platform_version``, series or SoC name; decides which options and counters exist.
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
    platform = resolve_platform(chip)
    document = read_document(options, surface, strict=strict)
    if document.form == "empty" and surface.empty_rule:
        if not framework:
            raise OptionError([f"{surface.name}: {surface.value_id} {surface.empty_reason}"])
        return build_parsed(apply_rules(_empty(document, cwd), platform), platform, surface)
    return parse_document(
        document,
        platform,
        surface,
        strict=strict,
        lookup=OutputLookup(environ=environ, cwd=cwd),
        honour_task_trace=honour_task_trace,
    )


@frozen(kw_only=True)
class OutputLookup:
    """Where the output directory is looked up; ``executable_dir`` counts for acl.json only."""

    environ: Mapping[str, str]
    cwd: str
    executable_dir: str | None = None


def parse_document(
    document: Document,
    platform: Platform,
    surface: Surface,
    *,
    strict: bool,
    lookup: OutputLookup,
    honour_task_trace: bool = False,
) -> Parsed:
    """Read a document that holds options. Raises `OptionError` with every problem of it."""
    effective, problems = check_document(document, platform, surface, strict=strict)
    problems += exclusion_problems(effective.values, platform, surface.value_id)
    try:
        effective = _find_output(effective, document, lookup, surface)
    except OptionError as error:
        problems += error.problems
    if problems:
        raise OptionError(problems)
    if surface.acl_defaults:
        effective = acl_defaults(effective, platform)
    effective = apply_rules(effective, platform, honour_task_trace=honour_task_trace)
    return build_parsed(effective, platform, surface)


def _empty(document: Document, cwd: str) -> Effective:
    message = (
        "no options: training_trace, task_trace, hccl, aicpu and aic_metrics=PipeUtilization are on; "
        "the data goes to the directory the job runs in."
    )
    values = {**_EMPTY_RULE, "output": cwd}
    notice = remark("profiling_options", message, NoticeCode.RULE)
    return Effective(values=values, origins=dict.fromkeys(values, Origin.RULE), notices=(*document.notices, notice))


def check_document(
    document: Document, platform: Platform, surface: Surface, *, strict: bool
) -> tuple[Effective, list[str]]:
    """Check every key by itself; return the neutral values by key, and the problems."""
    context = ValueContext(
        platform,
        strict,
        surface.storage_limit_fails,
        default_metric_group(platform) if surface.acl_defaults else MetricGroup.PIPE_UTILIZATION,
        surface.acl_defaults,
    )
    table = surface.table
    values: dict[str, Any] = {}
    origins: dict[str, Origin] = {}
    notices = list(document.notices)
    problems = []
    for name, value in _current(document, surface, notices, strict=strict):
        key = table.get(name)
        if key is None:
            hint = elsewhere(name, surface) or did_you_mean(name, table)
            refusal = f"value {shown(value)} refused"
            problems.append(f"{shown_key(name)}: {surface.unknown_id} {refusal}: {surface.unknown_reason}.{hint}")
            continue
        if key.note:
            notices.append(warning(name, key.note, NoticeCode.DEPRECATED))
        try:
            _require_platform(key, platform)
            values[name], remarks = check_value(key, value, context)
            notices += remarks
            origins[name] = Origin.RULE if any(n.code in _REPLACING for n in remarks) else Origin.GIVEN
        except Refused as refused:
            hint = f".{did_you_mean(refused.value, refused.valid)}" if isinstance(refused.value, str) else ""
            refusal = f"value {shown(value)} refused"
            problems.append(f"{name}: {surface.value_id} {refusal}: {refused.allowed}{hint}".rstrip("."))
        except OptionError as error:
            problems += error.problems
    return Effective(values=values, origins=origins, notices=tuple(notices)), problems


def _current(
    document: Document, surface: Surface, notices: list[Notice], *, strict: bool
) -> Iterator[tuple[str, object]]:
    """Yield the options by their current names; a retired name adds a notice (*strict* leaves the names alone)."""
    for name, value in document.values.items():
        if document.form == "legacy" and name == "op_trace":
            message = "op_trace has no counterpart among the current options; it is left out."
            notices.append(warning(name, message, NoticeCode.IGNORED))
            continue
        renamed = None if strict or not surface.empty_rule else current_name(name, value)
        if renamed is None:
            yield name, value
            continue
        today, today_value = renamed
        if today in document.values:
            message = f"{name} is an old name of {today}, which is given, too; {name} is left out."
            notices.append(warning(name, message, NoticeCode.IGNORED))
            continue
        message = f"{name} is an old name that the current collector refuses; it is read as {today}."
        notices.append(warning(name, message, NoticeCode.LENIENT))
        yield today, today_value


def _require_platform(key: Key, platform: Platform) -> None:
    if not key.is_on(platform):
        absent = f"{key.name} is not supported on {platform.label}"
        raise OptionError([f"{key.name}: EK0005 {absent}; chips with it: {key.holders}"])


def _find_output(effective: Effective, document: Document, lookup: OutputLookup, surface: Surface) -> Effective:
    output = effective.get("output", "")
    if document.form == "legacy" and not lookup.environ.get("ASCEND_WORK_PATH"):
        # The list of 2020 cannot carry a path.
        message = "no output: the data goes to the directory the job runs in."
        return effective.put("output", lookup.cwd, remark("output", message, NoticeCode.RULE))
    directory, origin = resolve_output(
        output, lookup.environ, lookup.cwd, value_id=surface.value_id, fallback=lookup.executable_dir
    )
    if origin is not Origin.RULE:
        return effective.put("output", directory, None, origin)
    message = "no usable output: the data goes to the directory of the executable."
    return effective.put("output", directory, remark("output", message, NoticeCode.RULE))
