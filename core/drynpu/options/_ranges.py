"""Range checks declared once, in the annotation of a field, and used by classes and converters alike."""

from __future__ import annotations

from typing import Annotated, Any, get_args, get_origin

import attrs

from drynpu._errors import OptionError
from drynpu.options._values import Range

__all__ = ["check_ranges", "range_of"]


def range_of(annotation: Any) -> Range | None:
    """Return the `Range` that an annotation such as ``Annotated[int, Range(1, 50)] | None`` carries."""
    if get_origin(annotation) is Annotated:
        return next((extra for extra in get_args(annotation)[1:] if isinstance(extra, Range)), None)
    return next((found for part in get_args(annotation) if (found := range_of(part)) is not None), None)


def check_ranges(instance: Any, where: str) -> None:
    """
    Raise `OptionError` with one line per number field of *instance* that lies outside its declared range.

    ``None`` passes: it means "not asked for" wherever a field allows it.
    """
    problems = []
    for attribute in attrs.fields(attrs.resolve_types(type(instance))):
        limits, value = range_of(attribute.type), getattr(instance, attribute.name)
        if limits is None or value is None:
            continue
        if not isinstance(value, (int, float)) or not limits.holds(value):
            problems.append(f"{where}.{attribute.name}: {value!r} is out of range; allowed: {limits.describe()}.")
    if problems:
        raise OptionError(problems)
