"""One reader per kind of value: what the collector accepts, and its reason where it does not (cann_msprof.md 1.5)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._notices import Notice, NoticeCode, remark, warning
from drynpu.options._problems import Refused, reasons
from drynpu.options._table import Kind
from drynpu.options._values import CustomEvents, MetricGroup, Metrics
from drynpu.options.profiling_options._keys import Key
from drynpu.options.profiling_options._names import (
    MAX_METRICS_LENGTH,
    MAX_OP_TYPES_LENGTH,
    METRIC_NAMES,
    listed_words,
    metric_groups,
    words_on,
)
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
class ValueContext:
    """The circumstances in which a value is read."""

    platform: Platform
    strict: bool
    storage_limit_fails: bool
    empty_metrics: MetricGroup = MetricGroup.PIPE_UTILIZATION
    """What a counter group that is present but empty stands for."""
    empty_by_default: bool = False
    """Whether leaving it out gives the same."""


_Checked = tuple[Any, list[Notice]]


def check_value(key: Key, value: object, context: ValueContext) -> _Checked:
    """
    Return the neutral value of *key* and what there is to say about it.

    Raises
    ------
    Refused
        With the collector's reason text.
    """
    return _READERS[key.kind](key, value, context)


# Messages that list the words in another order than the command.
_ORDERS = {Kind.GRAPH_API: "'l0', 'l1' or 'off'"}


def _word(key: Key, value: object, context: ValueContext) -> _Checked:
    words = words_on(context.platform, key.kind)
    if isinstance(value, str) and value in words:
        return words[value], []
    raise Refused(value, f"Please input {_ORDERS.get(key.kind) or listed_words(words)}", words)


def _text(key: Key, value: object, _: ValueContext) -> _Checked:
    if not isinstance(value, str):
        raise Refused(value, f"The {key.name} should be a string")
    return value, []


def _flow(_: Key, value: object, __: ValueContext) -> _Checked:
    if not isinstance(value, str) or not value:
        raise Refused(value, "Please input a non-empty value")
    return value, []


def _frequency(key: Key, value: object, context: ValueContext) -> _Checked:
    limits = key.limits_on(context.platform)
    reason = f"Please input an integer value in range [{limits.low:.0f}, {limits.high or 0:.0f}]"
    notices = []
    if isinstance(value, str) and not context.strict and re.fullmatch(r"[0-9]{1,9}", value.strip()):
        message = f"{value!r} is a quoted number; the current collector wants {value.strip()} without quotes."
        notices.append(warning(key.name, message, NoticeCode.LENIENT))
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise Refused(value, f"The {key.name} should be an integer. {reason}")
    if not limits.holds(value):
        raise Refused(value, reason)
    if key.is_wide(value):
        notices.append(remark(key.name, WIDE_RANGE_MESSAGE, NoticeCode.CHIP))
    return value, notices


def _items(key: Key, value: object, context: ValueContext) -> _Checked:
    words = words_on(context.platform, key.kind)
    several = "one or more of " if len(words) > 2 else ""
    reason = f"Please input {several}{listed_words(words)}"
    if not isinstance(value, str):
        raise Refused(value, reason)
    items = value.split(",") if value else []
    for item in items:
        if item not in words:
            raise Refused(item, reason, words)
    return tuple(dict.fromkeys(words[item] for item in items)), []


def _storage(key: Key, value: object, context: ValueContext) -> _Checked:
    if value == "":
        return None, []
    match = _STORAGE.fullmatch(value) if isinstance(value, str) else None
    size = int(match[1]) if match else None
    limits = key.limits_on(context.platform)
    if size is not None and limits.holds(size):
        return size, []
    if context.storage_limit_fails or not isinstance(value, str):
        raise Refused(value, _STORAGE_REASON)
    if size is not None and size < limits.low:
        message = f"{_STORAGE_WARNING}: {value!r} is raised to '200MB'. {_STORAGE_REASON}"
        return int(limits.low), [warning(key.name, message)]
    message = f"{_STORAGE_WARNING}: {value!r} sets no limit. {_STORAGE_REASON}"
    return None, [warning(key.name, message, NoticeCode.IGNORED)]


def _op_types(key: Key, value: object, _: ValueContext) -> _Checked:
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
    return unique, [remark(key.name, "an operator type named twice counts once")]


def _metrics(key: Key, value: object, context: ValueContext) -> _Checked:
    groups = {METRIC_NAMES[group]: group for group in metric_groups(context.platform)}
    reason = f"Please input in the range of [{', '.join(groups)}] or Custom:<event-list>"
    if not isinstance(value, str):
        raise Refused(value, f"The aic_metrics should be a string. {reason}")
    if not value:
        name = METRIC_NAMES[context.empty_metrics]
        advice = "" if context.empty_by_default else " Leave the key out for none."
        message = f"aic_metrics is present but empty: {name} is collected.{advice}"
        return context.empty_metrics, [remark(key.name, message, NoticeCode.RULE)]
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
        raise Refused(value, f"{reason} ({reasons(error)})") from error
    if max(events.events) <= _OLD_EVENT_LIMIT:
        return events, []
    message = "some releases take events up to 0x6E only."
    return events, [remark(key.name, message)]


_READERS: Mapping[Kind, Callable[[Key, object, ValueContext], _Checked]] = MappingProxyType(
    {
        **dict.fromkeys((Kind.SWITCH, Kind.LEVEL, Kind.GRAPH_API, Kind.BLOCK, Kind.LLC), _word),
        **dict.fromkeys((Kind.HOST_SYSTEMS, Kind.HOST_USAGE), _items),
        **dict.fromkeys((Kind.TEXT, Kind.OUTPUT), _text),
        Kind.FLOW: _flow,
        Kind.METRICS: _metrics,
        Kind.INTEGER: _frequency,
        Kind.STORAGE: _storage,
        Kind.OP_TYPES: _op_types,
    }
)
