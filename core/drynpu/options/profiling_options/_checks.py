"""One reader per kind of value: what the collector accepts, and its reason where it does not (cann_msprof.md 1.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._notices import Notice, NoticeCode, Severity
from drynpu.options._problems import Refused
from drynpu.options._table import Kind
from drynpu.options._values import CustomEvents, Level, MetricGroup, Metrics
from drynpu.options.profiling_options._keys import Key
from drynpu.options.profiling_options._names import (
    BLOCK_WORDS,
    GRAPH_API_WORDS,
    HOST_SYSTEM_WORDS,
    HOST_USAGE_WORDS,
    LEVEL_WORDS,
    MAX_METRICS_LENGTH,
    MAX_OP_TYPES_LENGTH,
    METRIC_NAMES,
    SWITCH_WORDS,
)
from drynpu.options.profiling_options._platforms import llc_modes, metric_groups
from drynpu.platforms import Platform

_STORAGE = re.compile(r"([0-9]{1,20})MB")
_STORAGE_REASON = "The storage_limit should be in range [200,4294967295] and end with MB"
_STORAGE_WARNING = "storage_limit para is invalid"
WIDE_RANGE_MESSAGE = (
    "more than 100 Hz counts for QoS and SoC bandwidth only; the other memory items are sampled at 100 Hz."
)

# Releases differ in the largest event that they take (cann_msprof.md 1.8).
_OLD_EVENT_LIMIT = 0x6E


@frozen
class Context:
    """The circumstances in which a value is read."""

    platform: Platform
    strict: bool
    storage_limit_fails: bool
    empty_metrics: MetricGroup = MetricGroup.PIPE_UTILIZATION
    """What a counter group that is present but empty stands for."""
    empty_by_default: bool = False
    """Whether leaving it out gives the same."""


_Checked = tuple[Any, list[Notice]]


def check_value(key: Key, value: object, context: Context) -> _Checked:
    """
    Return the neutral value of *key* and what there is to say about it.

    Raises
    ------
    Refused
        With the collector's reason text.
    """
    return _READERS[key.kind](key, value, context)


def _choice(value: object, words: Mapping[str, Any], reason: str) -> Any:
    if isinstance(value, str) and value in words:
        return words[value]
    raise Refused(value, reason, words)


def _switch(_: Key, value: object, __: Context) -> _Checked:
    return _choice(value, SWITCH_WORDS, "Please input 'on' or 'off'"), []


def level_words(platform: Platform) -> dict[str, Level]:
    """Return the texts of ``task_time`` on *platform*, in the order in which messages list them."""
    return {text: level for text, level in LEVEL_WORDS.items() if level is not Level.L3 or platform.level_l3}


def _level(_: Key, value: object, context: Context) -> _Checked:
    words = level_words(context.platform)
    *first, last = map(repr, words)
    return _choice(value, words, f"Please input {', '.join(first)} or {last}"), []


def _graph_api(_: Key, value: object, __: Context) -> _Checked:
    return _choice(value, GRAPH_API_WORDS, "Please input 'l0', 'l1' or 'off'"), []


def _block(_: Key, value: object, __: Context) -> _Checked:
    return _choice(value, BLOCK_WORDS, "Please input 'all', 'on' or 'off'"), []


def _text(key: Key, value: object, _: Context) -> _Checked:
    if not isinstance(value, str):
        raise Refused(value, f"The {key.name} should be a string")
    return value, []


def _flow(_: Key, value: object, __: Context) -> _Checked:
    if not isinstance(value, str) or not value:
        raise Refused(value, "Please input a non-empty value")
    return value, []


def _frequency(key: Key, value: object, context: Context) -> _Checked:
    limits = key.limits_on(context.platform)
    reason = f"Please input an integer value in range [{limits.low:.0f}, {limits.high or 0:.0f}]"
    notices = []
    if isinstance(value, str) and not context.strict and re.fullmatch(r"[0-9]{1,9}", value.strip()):
        message = f"{value!r} is a quoted number; the current collector wants {value.strip()} without quotes."
        notices.append(Notice(Severity.WARNING, key.name, message, NoticeCode.LENIENT))
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(value, f"The {key.name} should be an integer. {reason}")
    if not limits.holds(value):
        raise Refused(value, reason)
    if key.is_wide(value):
        notices.append(Notice(Severity.INFO, key.name, WIDE_RANGE_MESSAGE, NoticeCode.CHIP))
    return value, notices


def _llc(_: Key, value: object, context: Context) -> _Checked:
    modes = llc_modes(context.platform)
    return _choice(value, modes, f"Please input {' or '.join(map(repr, modes))}"), []


def _items(value: object, words: Mapping[str, Any], reason: str) -> tuple[Any, ...]:
    if not isinstance(value, str):
        raise Refused(value, reason)
    if not value:
        return ()
    for item in value.split(","):
        if item not in words:
            raise Refused(item, reason, words)
    return tuple(dict.fromkeys(words[item] for item in value.split(",")))


def _host_systems(_: Key, value: object, __: Context) -> _Checked:
    reason = "Please input one or more of 'cpu', 'mem', 'disk', 'network', 'osrt' or 'numa'"
    return _items(value, HOST_SYSTEM_WORDS, reason), []


def _host_usage(_: Key, value: object, __: Context) -> _Checked:
    return _items(value, HOST_USAGE_WORDS, "Please input 'cpu' or 'mem'"), []


def _storage(key: Key, value: object, context: Context) -> _Checked:
    if value == "":
        return None, []
    found = _STORAGE.fullmatch(value) if isinstance(value, str) else None
    size = int(found[1]) if found else None
    limits = key.limits_on(context.platform)
    if size is not None and limits.holds(size):
        return size, []
    if context.storage_limit_fails or not isinstance(value, str):
        raise Refused(value, _STORAGE_REASON)
    if size is not None and size < limits.low:
        message = f"{_STORAGE_WARNING}: {value!r} is raised to '200MB'. {_STORAGE_REASON}"
        return int(limits.low), [Notice(Severity.WARNING, key.name, message, NoticeCode.RESET)]
    message = f"{_STORAGE_WARNING}: {value!r} sets no limit. {_STORAGE_REASON}"
    return None, [Notice(Severity.WARNING, key.name, message, NoticeCode.IGNORED)]


def _op_types(key: Key, value: object, _: Context) -> _Checked:
    if not isinstance(value, str):
        raise Refused(value, "The optype should be a string")
    if not value:
        return (), []
    if len(value) > MAX_OP_TYPES_LENGTH:
        raise Refused(value, f"a comma list of at most {MAX_OP_TYPES_LENGTH} characters")
    items = value.split(",")
    if not all(item.strip() for item in items):
        raise Refused(value, "a comma list of operator types without an empty item")
    unique = tuple(dict.fromkeys(items))
    if len(unique) == len(items):
        return unique, []
    return unique, [Notice(Severity.INFO, key.name, "an operator type named twice counts once", NoticeCode.INFORMATION)]


def _metrics(key: Key, value: object, context: Context) -> _Checked:
    groups = {METRIC_NAMES[group]: group for group in metric_groups(context.platform)}
    reason = f"Please input in the range of [{', '.join(groups)}] or Custom:<event-list>"
    if not isinstance(value, str):
        raise Refused(value, f"The aic_metrics should be a string. {reason}")
    if not value:
        name = METRIC_NAMES[context.empty_metrics]
        advice = "" if context.empty_by_default else " Leave the key out for none."
        message = f"aic_metrics is present but empty: {name} is collected.{advice}"
        return context.empty_metrics, [Notice(Severity.INFO, key.name, message, NoticeCode.RULE)]
    if len(value) > MAX_METRICS_LENGTH:
        raise Refused(value, f"{reason}, at most {MAX_METRICS_LENGTH} characters")
    if value.startswith("Custom:"):
        return _custom(key, value, reason)
    if value in groups:
        return groups[value], []
    if value in METRIC_NAMES.values():
        raise Refused(value, f"{reason} ({value} does not exist on {context.platform.label})")
    raise Refused(value, reason, groups)


def _custom(key: Key, value: str, reason: str) -> tuple[Metrics, list[Notice]]:
    try:
        events = CustomEvents.from_text(value)
    except OptionError as error:
        why = " ".join(line.partition(": ")[2] for line in error.problems)
        raise Refused(value, f"{reason} ({why})") from error
    if max(events.events) <= _OLD_EVENT_LIMIT:
        return events, []
    message = "some releases take events up to 0x6E only."
    return events, [Notice(Severity.INFO, key.name, message, NoticeCode.INFORMATION)]


_READERS: Mapping[Kind, Callable[[Key, object, Context], _Checked]] = MappingProxyType(
    {
        Kind.SWITCH: _switch,
        Kind.LEVEL: _level,
        Kind.GRAPH_API: _graph_api,
        Kind.BLOCK: _block,
        Kind.TEXT: _text,
        Kind.FLOW: _flow,
        Kind.METRICS: _metrics,
        Kind.INTEGER: _frequency,
        Kind.LLC: _llc,
        Kind.HOST_SYSTEMS: _host_systems,
        Kind.HOST_USAGE: _host_usage,
        Kind.STORAGE: _storage,
        Kind.OP_TYPES: _op_types,
        Kind.OUTPUT: _text,
    }
)
