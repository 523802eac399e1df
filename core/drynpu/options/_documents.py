"""JSON and YAML text to plain values; what the text itself gets wrong is reported with its place."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from typing import Any

from drynpu._errors import OptionError


def load_json(text: str | bytes, where: str = "") -> Any:
    """
    Parse JSON strictly: no duplicate keys, no NaN or Infinity.

    Raises `OptionError` with line and column, or with every duplicate key.
    """
    duplicates: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        duplicates.extend(key for key, count in Counter(key for key, _ in items).items() if count > 1)
        return dict(items)

    name = where or "document"
    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        problem = f"{name}: not valid JSON at line {error.lineno} column {error.colno}: {error.msg}."
        raise OptionError([problem]) from error
    except (ValueError, RecursionError) as error:
        raise OptionError([f"{name}: not valid JSON: {error}."]) from error
    if duplicates:
        raise OptionError([f"{name}: key {key!r} appears more than once in one object." for key in duplicates])
    return data


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def load_yaml(text: str | bytes, where: str = "") -> Any:
    """Parse YAML with the safe loader, refusing duplicate keys. Raises `OptionError` with line and column."""
    import yaml  # takes long to import, and most documents are JSON

    class UniqueKeyLoader(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[object] = set()
            for key_node, _ in node.value:
                key = self.construct_object(key_node, deep=True)
                if isinstance(key, Hashable):
                    if key in seen:
                        raise yaml.constructor.ConstructorError(None, None, f"key {key!r} twice", key_node.start_mark)
                    seen.add(key)
            return super().construct_mapping(node, deep)

    name = where or "document"
    try:
        return yaml.load(text, Loader=UniqueKeyLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1} column {mark.column + 1}" if mark else ""
        raise OptionError([f"{name}: not valid YAML{place}: {error.problem}."]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        first_line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OptionError([f"{name}: not valid YAML: {first_line}."]) from error
