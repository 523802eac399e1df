"""How a facade gets the modules and names that plugins add to it."""

from __future__ import annotations

import sys
from importlib import import_module

from drynpu.plugins._manager import from_plugins


def join_parts(package: str) -> dict[str, object]:
    """
    Let a package of a facade, which is being imported, find the modules of plugins; return the names that it gets.

    Its ``__getattr__`` is asked about the others.
    """
    names: dict[str, object] = {}
    for part in from_plugins(lambda plugins: plugins.facade_parts(package)):
        sys.modules[package].__path__.append(str(part.folder))
        module = import_module(f"{package}.{part.names}")
        names.update({name: getattr(module, name) for name in module.__all__})
    return names
