"""Packages of the vendor's that hold the same modules under two names."""

from __future__ import annotations

import importlib
import pkgutil
import sys


def alias_modules(package: str, alias: str) -> None:
    """
    Have every module below *package* found below *alias* as well; it is one module with two names.

    Parameters
    ----------
    package, alias:
        Names of packages; *alias* is being imported.
    """
    source = importlib.import_module(package)
    for info in pkgutil.walk_packages(source.__path__, f"{package}."):
        module = importlib.import_module(info.name)
        name = alias + info.name.removeprefix(package)
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[parent], last, module)
