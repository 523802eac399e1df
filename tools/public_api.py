"""
List the public names of the core, one a line: package and name.

    python tools/public_api.py > tests/core/public_api.txt

A change of the list is a change for plugins and scripts of others: it belongs into the changelog.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys

import drynpu


def public_names() -> list[str]:
    """Return ``package.name`` of all that the package and its rooms export; names with an underscore are nobody's."""
    rooms = [
        room.name for room in pkgutil.iter_modules(drynpu.__path__) if room.ispkg and not room.name.startswith("_")
    ]
    names = []
    for package in ("drynpu", *(f"drynpu.{room}" for room in rooms)):
        module = importlib.import_module(package)
        names += [f"{package}.{name}" for name in getattr(module, "__all__", ())]
    return sorted(names)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for name in public_names()))
