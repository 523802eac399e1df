"""Rooms whose modules are imported when a name of theirs is first used: who wants one name starts sooner."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

CONDITION = "TYPE_CHECKING"
"""
Under it stand the imports of such a room, so that type checkers and tests read them like the imports of any other room.
"""


def lazy_room(package: str) -> Callable[[str], Any]:
    """
    Return ``__getattr__`` of a package whose imports stand under ``if TYPE_CHECKING:``.

    Each is made when its name is asked for.

    Parameters
    ----------
    package:
        ``__name__`` of the package.
    """
    places: dict[str, str] = {}

    def find(name: str) -> Any:
        if not places and not name.startswith("__"):
            places.update(_places(_source(package)))
        if name not in places:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message)
        if places[name] == package:  # a module of the package's own
            return importlib.import_module(f"{package}.{name}")
        value = getattr(importlib.import_module(places[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return find


def _source(package: str) -> str:
    spec = sys.modules[package].__spec__
    # Asked for by name: importing importlib.abc for the class is a third of the time of `import drynpu`.
    get_source = getattr(spec and spec.loader, "get_source", None)
    source: str | None = get_source(package) if get_source is not None else None
    if source is None:
        message = f"{package} was installed without its sources, which say where its names are"
        raise ImportError(message)
    return source


def _places(source: str) -> dict[str, str]:
    """Return which module each name comes from that the source of a package imports under the condition."""
    import ast  # `import drynpu` does without it

    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    chosen = [block for block in blocks if isinstance(block.test, ast.Name) and block.test.id == CONDITION]
    imports = [node for block in chosen for node in block.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in imports for alias in node.names if node.module is not None}
