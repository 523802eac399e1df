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
from drynpu.options._values import (
    BlockTrace,
    CustomEvents,
    GraphApi,
    Level,
    LlcMode,
    MetricGroup,
    Metrics,
    Range,
)
from drynpu.options.profiling_options._chips import ChipFamily, metric_groups
from drynpu.options.profiling_options._keys import Key, Kind
from drynpu.options.profiling_options._names import HOST_SYSTEM_NAMES, HOST_USAGE_NAMES, METRIC_NAMES

__all__ = ["Context", "check_value"]

_STORAGE = re.compile(r"([0-9]{1,20})MB")
_STORAGE_RANGE = Range(200, 4_294_967_295)
_STORAGE_REASON = "The storage_limit should be in range [200,4294967295] and end with MB"
_STORAGE_WARNING = "storage_limit para is invalid"
_MAX_METRICS_LENGTH = 70
_MAX_OP_TYPES_LENGTH = 256
_OLD_EVENT_LIMIT = 0x6E


@frozen
class Context:
    """The circumstances in which a value is read."""

    family: ChipFamily
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
    return _choice(value, {"on": True, "off": False}, "Please input 'on' or 'off'"), []


def _level(_: Key, value: object, context: Context) -> _Checked:
    words = {"on": Level.L1, "off": Level.NONE, "l0": Level.L0, "l1": Level.L1, "l2": Level.L2}
    reason = "Please input 'on', 'off', 'l0', 'l1' or 'l2'"
    if context.family.has_l3:
        words["l3"] = Level.L3
        reason = "Please input 'on', 'off', 'l0', 'l1', 'l2' or 'l3'"
    return _choice(value, words, reason), []


def _graph_api(_: Key, value: object, __: Context) -> _Checked:
    words = {"l0": GraphApi.L0, "l1": GraphApi.L1, "off": GraphApi.OFF}
    return _choice(value, words, "Please input 'l0', 'l1' or 'off'"), []


def _block(_: Key, value: object, __: Context) -> _Checked:
    words = {"all": BlockTrace.ALL, "on": BlockTrace.ON, "off": BlockTrace.OFF}
    return _choice(value, words, "Please input 'all', 'on' or 'off'"), []


def _text(key: Key, value: object, _: Context) -> _Checked:
    if not isinstance(value, str):
        raise Refused(value, f"The {key.name} should be a string")
    return value, []


def _flow(_: Key, value: object, __: Context) -> _Checked:
    if not isinstance(value, str) or not value:
        raise Refused(value, "Please input a non-empty value")
    return value, []


def _limits(key: Key, family: ChipFamily) -> Range:
    assert key.limits is not None
    if key.name == "sys_hardware_mem_freq" and family is ChipFamily.ASCEND_950:
        return Range(1, 10_000)
    return key.limits


def _frequency(key: Key, value: object, context: Context) -> _Checked:
    limits = _limits(key, context.family)
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
    if key.name == "sys_hardware_mem_freq" and value > 100:
        message = (
            "more than 100 Hz counts for QoS and SoC bandwidth only; the other memory items are sampled at 100 Hz."
        )
        notices.append(Notice(Severity.INFO, key.name, message, NoticeCode.CHIP))
    return value, notices


def _llc(_: Key, value: object, context: Context) -> _Checked:
    if context.family is ChipFamily.ASCEND_310:
        words = {"capacity": LlcMode.CAPACITY, "bandwidth": LlcMode.BANDWIDTH}
        return _choice(value, words, "Please input 'capacity' or 'bandwidth'"), []
    words = {"read": LlcMode.READ, "write": LlcMode.WRITE}
    return _choice(value, words, "Please input 'read' or 'write'"), []


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
    words = {text: member for member, text in HOST_SYSTEM_NAMES.items()}
    reason = "Please input one or more of 'cpu', 'mem', 'disk', 'network', 'osrt' or 'numa'"
    return _items(value, words, reason), []


def _host_usage(_: Key, value: object, __: Context) -> _Checked:
    words = {text: member for member, text in HOST_USAGE_NAMES.items()}
    return _items(value, words, "Please input 'cpu' or 'mem'"), []


def _storage(key: Key, value: object, context: Context) -> _Checked:
    if value == "":
        return None, []
    found = _STORAGE.fullmatch(value) if isinstance(value, str) else None
    size = int(found[1]) if found else None
    if size is not None and _STORAGE_RANGE.holds(size):
        return size, []
    if context.storage_limit_fails or not isinstance(value, str):
        raise Refused(value, _STORAGE_REASON)
    if size is not None and size < _STORAGE_RANGE.low:
        message = f"{_STORAGE_WARNING}: {value!r} is raised to '200MB'. {_STORAGE_REASON}"
        return int(_STORAGE_RANGE.low), [Notice(Severity.WARNING, key.name, message, NoticeCode.RESET)]
    message = f"{_STORAGE_WARNING}: {value!r} sets no limit. {_STORAGE_REASON}"
    return None, [Notice(Severity.WARNING, key.name, message, NoticeCode.IGNORED)]


def _op_types(key: Key, value: object, _: Context) -> _Checked:
    if not isinstance(value, str):
        raise Refused(value, "The optype should be a string")
    if not value:
        return (), []
    if len(value) > _MAX_OP_TYPES_LENGTH:
        raise Refused(value, f"a comma list of at most {_MAX_OP_TYPES_LENGTH} characters")
    items = value.split(",")
    if not all(item.strip() for item in items):
        raise Refused(value, "a comma list of operator types without an empty item")
    unique = tuple(dict.fromkeys(items))
    if len(unique) == len(items):
        return unique, []
    return unique, [Notice(Severity.INFO, key.name, "an operator type named twice counts once", NoticeCode.INFORMATION)]


def _metrics(key: Key, value: object, context: Context) -> _Checked:
    groups = {METRIC_NAMES[group]: group for group in metric_groups(context.family)}
    reason = f"Please input in the range of [{', '.join(groups)}] or Custom:<event-list>"
    if not isinstance(value, str):
        raise Refused(value, f"The aic_metrics should be a string. {reason}")
    if not value:
        name = METRIC_NAMES[context.empty_metrics]
        advice = "" if context.empty_by_default else " Leave the key out for none."
        message = f"aic_metrics is present but empty: {name} is collected.{advice}"
        return context.empty_metrics, [Notice(Severity.INFO, key.name, message, NoticeCode.RULE)]
    if len(value) > _MAX_METRICS_LENGTH:
        raise Refused(value, f"{reason}, at most {_MAX_METRICS_LENGTH} characters")
    if value.startswith("Custom:"):
        return _custom(key, value, reason)
    if value in groups:
        return groups[value], []
    if value in METRIC_NAMES.values():
        raise Refused(value, f"{reason} ({value} does not exist on {context.family.label})")
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
        Kind.FREQUENCY: _frequency,
        Kind.LLC: _llc,
        Kind.HOST_SYSTEMS: _host_systems,
        Kind.HOST_USAGE: _host_usage,
        Kind.STORAGE: _storage,
        Kind.OP_TYPES: _op_types,
        Kind.OUTPUT: _text,
    }
)
