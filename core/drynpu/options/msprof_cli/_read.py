"""One reader per kind of flag: the neutral value of its text, or the command's own message."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu._spelling import did_you_mean
from drynpu.options._problems import reasons, shown
from drynpu.options._table import Kind
from drynpu.options._values import CustomEvents, ExportType, MetricGroup, Range
from drynpu.options.msprof_cli._flags import Flag
from drynpu.options.profiling_options import (
    MAX_METRICS_LENGTH,
    MAX_OP_TYPES_LENGTH,
    METRIC_NAMES,
    forbidden_characters,
    listed_words,
    metric_groups,
    words_on,
)
from drynpu.platforms import Platform

# Longest path of the command (cann_msprof.md 1.4).
MAX_PATH = 1024
# The host itself has device id 64 (cann_msprof.md 2.4).
_MAX_DEVICE_ID = 63
# The order in which the command lists the groups, with those that not every chip has at the end.
_METRIC_ORDER = (
    MetricGroup.ARITHMETIC_UTILIZATION,
    MetricGroup.PIPE_UTILIZATION,
    MetricGroup.MEMORY,
    MetricGroup.MEMORY_L0,
    MetricGroup.MEMORY_UB,
    MetricGroup.L2_CACHE,
    MetricGroup.RESOURCE_CONFLICT_RATIO,
    MetricGroup.PIPELINE_EXECUTE_UTILIZATION,
    MetricGroup.MEMORY_ACCESS,
)


class Refusal(ValueError):
    """One flag that cannot be taken; the message is the command's own."""


@frozen
class FlagContext:
    """Where a flag is read: the chip decides on values, the directory on relative paths."""

    platform: Platform
    cwd: str


def read_flag(flag: Flag, text: object, context: FlagContext) -> Any:
    """
    Return the neutral value of *text*.

    Raises
    ------
    Refusal
        With the command's message.
    """
    if not isinstance(text, str):
        raise Refusal(f"Argument {flag.option}: expected one argument")
    return _READERS[flag.kind](flag, text, context)


def _plain(text: str) -> str:
    """Return *text* as the command shows it, on one line and cut to a readable length."""
    return text if text.isprintable() and len(text) <= 60 else shown(text)


def _require_text(flag: Flag, text: str) -> str:
    if not text:
        raise Refusal(f"Argument {flag.option}: expected one argument")
    return text


def _word(flag: Flag, text: str, context: FlagContext) -> Any:
    words = words_on(context.platform, flag.kind)
    if text == "l3" and flag.kind is Kind.LEVEL and text not in words:
        raise Refusal(f"Argument {flag.option}: l3 is not supported on this platform.")
    return _choice(flag, text, words)


def _choice(flag: Flag, text: str, words: Mapping[str, object]) -> Any:
    if text in words:
        return words[text]
    advice = f"Please input {listed_words(words)}.{did_you_mean(text, words)}"
    raise Refusal(f"Argument {flag.option}: invalid value: {_plain(text)}. {advice}")


def _mode(flag: Flag, text: str, _: FlagContext) -> str:
    if text not in ("task-based", "sample-based"):
        message = f"Argument {flag.option}: invalid value: {_plain(text)}.Please input 'task-based' or 'sample-based'."
        raise Refusal(message)
    return text


def _export(flag: Flag, text: str, _: FlagContext) -> Any:
    return _choice(flag, text, {"text": (ExportType.TEXT, ExportType.DB), "db": (ExportType.DB,)})


def _metrics(flag: Flag, text: str, context: FlagContext) -> MetricGroup | CustomEvents:
    here = metric_groups(context.platform)
    groups = {METRIC_NAMES[group]: group for group in (*_METRIC_ORDER, *here) if group in here}
    allowed = f"Please input in the range of [{'|'.join(groups)}]"
    if not text:
        raise Refusal(f"Argument {flag.option} is empty. {allowed}")
    refused = f"Argument {flag.option}: invalid value:{_plain(text)}. {allowed}"
    if len(text) > MAX_METRICS_LENGTH:
        raise Refusal(f"{refused} (at most {MAX_METRICS_LENGTH} characters)")
    if text.startswith("Custom:"):
        try:
            return CustomEvents.from_text(text)
        except OptionError as error:
            raise Refusal(f"{refused} ({reasons(error)})") from error
    if text not in groups:
        raise Refusal(f"{refused}.{did_you_mean(text, groups)}")
    return groups[text]


def _limits(flag: Flag, context: FlagContext) -> tuple[int, int]:
    limits = flag.limits_on(context.platform)
    assert limits.high is not None
    return int(limits.low), int(limits.high)


def _number(text: str) -> int | None:
    """Return an unsigned number as the command knows it: digits, nothing else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None


def _integer(flag: Flag, text: str, context: FlagContext) -> int:
    low, high = _limits(flag, context)
    value = _number(text)
    if value is not None and low <= value <= high:
        return value
    if flag.name == "sys-period":
        period = f"The range of period is {low}~{high} seconds."
        if value is None:
            message = f"invalid value: {_plain(text)}.Please input an integer value.{period}"
        else:
            message = f"invalid int value: {value}.{period}"
    elif flag.name == "host-sys-pid":
        message = f"invalid value: {_plain(text)}.Please input an integer value.The min value is 0."
    elif value is None:
        message = f"invalid value: {_plain(text)}.Please input an integer value in {low}-{high}."
    else:
        message = f"invalid int value: {value}.Please input data is in {low} to {high}."
    raise Refusal(f"Argument {flag.option}: {message}")


def _llc(flag: Flag, text: str, context: FlagContext) -> Any:
    words = words_on(context.platform, flag.kind)
    advice = f"Please input in the range of '{'|'.join(words)}'"
    if not text:
        raise Refusal(f"Argument {flag.option} is empty.{advice}")
    if text not in words:
        raise Refusal(f"Argument {flag.option}: invalid value: {_plain(text)}. {advice}")
    return words[text]


def _items(flag: Flag, text: str, context: FlagContext) -> tuple[Any, ...]:
    words, systems = words_on(context.platform, flag.kind), flag.kind is Kind.HOST_SYSTEMS
    # The command takes numa and does not name it.
    advice = f"Please input in the range of 'cpu|mem{'|disk|network|osrt' if systems else ''}'"
    if not text:
        raise Refusal(f"Argument {flag.option} is empty. {advice}{'' if systems else '.'}")
    for item in text.split(","):
        if item not in words and systems:
            raise Refusal(f"Argument {flag.option}: invalid value:{_plain(item)}. {advice}")
        if item not in words:
            raise Refusal(f"Argument {flag.option}={_plain(text)} is invalid. {advice}.")
    return tuple(dict.fromkeys(words[item] for item in text.split(",")))


def _storage(flag: Flag, text: str, context: FlagContext) -> int:
    low, high = _limits(flag, context)
    digits = _require_text(flag, text).removesuffix("MB")
    size = _number(digits) if digits != text else None
    if size is None or not low <= size <= high:
        advice = f"valid range is {low}MB~{high}MB"
        raise Refusal(f"Argument {flag.option} {_plain(text)} is invalid, {advice}")
    return size


def _op_types(flag: Flag, text: str, _: FlagContext) -> tuple[str, ...]:
    if not text or not all(item.strip() for item in text.split(",")):
        raise Refusal(f"Argument {flag.option}: Failed to check empty opType.")
    if len(text) > MAX_OP_TYPES_LENGTH:
        head = text[: MAX_OP_TYPES_LENGTH // 2]
        problem = f"Failed to check overflow opType: {head!r}..., the max input size is {MAX_OP_TYPES_LENGTH}."
        raise Refusal(f"Argument {flag.option}: {problem}")
    return tuple(dict.fromkeys(text.split(",")))


def _output(flag: Flag, text: str, context: FlagContext) -> str:
    path = os.path.normpath(Path(context.cwd) / _require_text(flag, text))
    if len(path) > MAX_PATH:
        raise Refusal(f"Argument {flag.option} is invalid because of exceeds the maximum length of {MAX_PATH}")
    if forbidden_characters(path) or "\0" in path:
        raise Refusal(f"Argument {flag.option} {_plain(path)} contains invalid character.")
    return path


def _path(flag: Flag, text: str, _: FlagContext) -> str:
    if len(_require_text(flag, text)) > MAX_PATH:
        raise Refusal(f"Argument {flag.option} is invalid because of exceeds the maximum length of {MAX_PATH}")
    return text


def _devices(flag: Flag, text: str, _: FlagContext) -> tuple[int, ...]:
    if not text:
        raise Refusal(f"Argument {flag.option} is empty,Please enter a valid {flag.option} value.")
    if text == "all":
        return ()
    return _numbers(flag, text, Range(0, _MAX_DEVICE_ID), "Please input a valid device id.")


def _pids(flag: Flag, text: str, context: FlagContext) -> tuple[int, ...]:
    low, high = _limits(flag, context)
    if not text:
        raise Refusal(f"Argument {flag.option} is empty, please enter a valid value.")
    return _numbers(flag, text, Range(low, high), f"Please input an integer value in {low}-{high}.")


def _numbers(flag: Flag, text: str, limits: Range, advice: str) -> tuple[int, ...]:
    numbers = []
    for item in text.split(","):
        number = _number(item)
        if number is None or not limits.holds(number):
            raise Refusal(f"Argument {flag.option}: invalid value: {_plain(item)}.{advice}")
        numbers.append(number)
    return tuple(dict.fromkeys(numbers))


def _domains(flag: Flag, text: str, _: FlagContext) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_require_text(flag, text).split(",")))


def _flow(flag: Flag, text: str, _: FlagContext) -> str:
    return _require_text(flag, text)


def _environment(flag: Flag, text: str, _: FlagContext) -> Mapping[str, str]:
    variables = {}
    for item in _require_text(flag, text).split(";"):
        name, equals, value = item.partition("=")
        if not equals or not name.strip() or "\0" in item:
            raise Refusal(f"Argument {flag.option}: invalid value: {_plain(item)}. Please input K=V, or K=V;K=V.")
        variables[name.strip()] = value
    return variables


def _command(flag: Flag, text: str, _: FlagContext) -> tuple[str, ...]:
    line = _require_text(flag, text)
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise Refusal(f"Argument {flag.option}: invalid value: {_plain(text)}. {error}") from error
    if not words:
        raise Refusal(f"Argument {flag.option}: expected one argument")
    return words


_READERS: Mapping[Kind, Callable[[Flag, str, FlagContext], Any]] = MappingProxyType(
    {
        **dict.fromkeys((Kind.SWITCH, Kind.LEVEL, Kind.GRAPH_API, Kind.BLOCK), _word),
        **dict.fromkeys((Kind.HOST_SYSTEMS, Kind.HOST_USAGE), _items),
        Kind.MODE: _mode,
        Kind.METRICS: _metrics,
        Kind.INTEGER: _integer,
        Kind.LLC: _llc,
        Kind.STORAGE: _storage,
        Kind.OP_TYPES: _op_types,
        Kind.OUTPUT: _output,
        Kind.PATH: _path,
        Kind.EXPORT: _export,
        Kind.DEVICES: _devices,
        Kind.PIDS: _pids,
        Kind.DOMAINS: _domains,
        Kind.FLOW: _flow,
        Kind.ENVIRONMENT: _environment,
        Kind.COMMAND: _command,
    }
)
