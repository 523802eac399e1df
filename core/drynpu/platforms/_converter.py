"""YAML documents to values, strictly: YAML has types of its own, so a number in quotes is a mistake."""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any, TypeVar

import yaml
from cattrs import Converter

T = TypeVar("T")

_ARTICLE = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def strict_converter() -> Converter:
    """Return a converter that refuses unknown keys and values of another type; a whole number is a number too."""
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


@functools.cache
def packaged_document(name: str) -> dict[str, Any]:
    """Read a file of this room once per process; nobody changes the result."""
    text = resources.files("drynpu.platforms").joinpath(name).read_text(encoding="utf-8")
    document: dict[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return document
