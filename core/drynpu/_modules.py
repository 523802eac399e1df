"""What loaded modules hold, read without running code of theirs: a module may be any object and raise anything."""

from __future__ import annotations

import sys
from typing import Any


def own_names(module: object) -> dict[str, Any]:
    """Return the names in a module, empty where it keeps them elsewhere."""
    try:
        names = object.__getattribute__(module, "__dict__")
    except Exception:  # noqa: BLE001 - the class of the object may raise anything
        return {}
    return names if type(names) is dict else {}


def modules_with(name: str, value: object, package: str = "") -> list[Any]:
    """Return the loaded modules in which *name* is *value*, those alone whose own names begin with *package*."""
    loaded = list(sys.modules.items())
    return [module for path, module in loaded if path.startswith(package) and own_names(module).get(name) is value]
