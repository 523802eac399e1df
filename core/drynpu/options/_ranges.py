"""Ranges of numbers, from the option table."""

from __future__ import annotations

from typing import Any

import attrs

from drynpu._errors import OptionError
from drynpu.options._table import range_of


def check_ranges(instance: Any, where: str) -> None:
    """
    Raise `OptionError` with one line per number field of *instance*, a section, that lies outside its range.

    ``None`` passes: it means "not asked for" wherever a field allows it.
    """
    problems = []
    for attribute in attrs.fields(type(instance)):
        value = getattr(instance, attribute.name)
        # A default needs no check, so that defaults alone do not read the table.
        if value is None or value == attribute.default:
            continue
        limits = range_of(f"{where}.{attribute.name}")
        if limits is not None and not (isinstance(value, (int, float)) and limits.holds(value)):
            problems.append(f"{where}.{attribute.name}: {value!r} is out of range; allowed: {limits.describe()}.")
    if problems:
        raise OptionError(problems)
