"""The cattrs converter of the option model: strict types, and every value it refuses says what is allowed."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from drynpu._errors import OptionError
from drynpu.options._problems import Refused, reasons
from drynpu.options._table import range_of
from drynpu.options._values import CustomEvents, MetricGroup, Metrics, Range

_Hook = Callable[[Any, Any], Any]
_PLAIN = {bool: "true or false", int: "an integer", float: "a number", str: "a text"}
"""Type -> how a message calls its values."""


def build_converter(sections: Mapping[type, str]) -> Converter:
    """
    Return a converter for the classes of the option model; *sections* are the paths of those with ranges.

    Text is never taken for a number or a truth value; instances of a wanted class pass through, so that keywords
    may carry them.
    """
    converter = Converter(detailed_validation=True, forbid_extra_keys=True)
    for kind, allowed in _PLAIN.items():
        converter.register_structure_hook(kind, _plain_hook(kind, allowed))
    converter.register_structure_hook_func(_is_enum, _structure_enum)
    converter.register_structure_hook_func(lambda kind: kind == Metrics, _structure_metrics)
    converter.register_structure_hook_factory(_is_tuple, lambda kind: _tuple_hook(kind, converter))
    converter.register_structure_hook_factory(attrs.has, lambda kind: _class_hook(kind, converter, sections))
    converter.register_unstructure_hook(CustomEvents, lambda value: value.text)
    converter.register_unstructure_hook_func(lambda kind: kind == Metrics, _unstructure_metrics)
    return converter


def _plain_hook(kind: type, allowed: str) -> _Hook:
    kinds = (int, float) if kind is float else kind

    def structure(value: object, _: object) -> Any:
        # A truth value is an integer to Python, but not to who writes options.
        if not isinstance(value, kinds) or (isinstance(value, bool) and kind is not bool):
            raise Refused(value, allowed)
        return value

    return structure


def _is_enum(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _is_tuple(kind: object) -> bool:
    return get_origin(kind) is tuple


def _structure_enum(value: object, kind: type[enum.Enum]) -> enum.Enum:
    if isinstance(value, kind):
        return value
    # YAML reads a bare off/on as a truth value.
    text = {False: "off", True: "on"}[value] if isinstance(value, bool) else value
    if isinstance(text, str):
        for member in kind:
            if member.value == text:
                return member
    valid = [str(member.value) for member in kind]
    raise Refused(value, ", ".join(valid), valid)


def _structure_metrics(value: object, _: object) -> MetricGroup | CustomEvents:
    if isinstance(value, (MetricGroup, CustomEvents)):
        return value
    valid = [str(member.value) for member in MetricGroup]
    allowed = ", ".join(valid) + ", or custom:<event>,<event>..."
    if not isinstance(value, str):
        raise Refused(value, allowed, valid)
    if value.casefold().startswith("custom:"):
        try:
            return CustomEvents.from_text(value)
        except OptionError as error:
            raise Refused(value, f"custom:<event>,<event>... ({reasons(error)})") from error
    if value not in valid:
        raise Refused(value, allowed, valid)
    return MetricGroup(value)


def _unstructure_metrics(value: MetricGroup | CustomEvents) -> str:
    return value.text if isinstance(value, CustomEvents) else value.value


def _tuple_hook(kind: object, converter: Converter) -> _Hook:
    inner = converter.get_structure_hook(list[get_args(kind)[0]])  # type: ignore[misc]

    def structure(value: object, _: object) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise Refused(value, "a list")
        return tuple(inner(value, list))

    return structure


def _ranged_hook(kind: object, limits: Range, converter: Converter) -> _Hook:
    """Return the hook of a number that may be absent where *kind* says so."""
    base = next(base for base in (float, int) if base is kind or base in get_args(kind))

    def structure(value: object, _: object) -> Any:
        if value is None and type(None) in get_args(kind):
            return None
        try:
            number = converter.structure(value, base)
        except Refused as refused:
            raise Refused(value, f"{refused.allowed}, {limits.describe()}") from None
        if not limits.holds(number):
            raise Refused(value, limits.describe())
        return number

    return structure


def _class_hook(kind: Any, converter: Converter, sections: Mapping[type, str]) -> _Hook:
    section = sections.get(kind, "")
    limits = {field: range_of(f"{section}.{field.name}") for field in attrs.fields(attrs.resolve_types(kind))}
    hooks: Any = {
        field.name: override(struct_hook=_ranged_hook(field.type, limit, converter))
        for field, limit in limits.items()
        if limit is not None
    }
    build = make_dict_structure_fn(
        kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_detailed_validation=True, **hooks
    )

    def structure(value: Any, _: Any) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, Mapping):
            raise Refused(value, "a mapping of " + ", ".join(a.name for a in attrs.fields(kind)))
        return build(value, kind)

    return structure
