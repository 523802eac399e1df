"""YAML documents to values, strictly: YAML has types of its own, so a number in quotes is a mistake."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from cattrs import Converter

from drynpu._packaged import packaged_yaml

T = TypeVar("T")

_ARTICLE = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@functools.cache
def strict_converter() -> Converter:
    """
    Return a converter that refuses unknown keys and values of another type; a whole number is a number too.

    There is one per process, because a converter compiles a function for every class it sees; nobody changes it.
    """
    converter = Converter(forbid_extra_keys=True, detailed_validation=True)

    def exact(value: object, wanted: type[T]) -> T:
        if wanted is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if isinstance(value, bool) is not (wanted is bool) or not isinstance(value, wanted):
            raise ValueError(f"{value!r} is not {_ARTICLE[wanted]}")
        return value

    for wanted in _ARTICLE:
        converter.register_structure_hook(wanted, exact)
    return converter


def packaged_document(name: str) -> dict[str, Any]:
    """Return a YAML file of this room; nobody changes the result."""
    return packaged_yaml("drynpu.platforms", name)
