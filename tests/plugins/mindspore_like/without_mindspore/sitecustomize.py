"""On the path of a process, hides an installed MindSpore from it."""

from __future__ import annotations

from importlib.machinery import PathFinder

_genuine = PathFinder.find_spec


def _find_spec(name, path=None, target=None):
    return None if name == "mindspore" else _genuine(name, path, target)


PathFinder.find_spec = _find_spec
