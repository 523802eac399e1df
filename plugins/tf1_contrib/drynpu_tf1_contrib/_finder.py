"""
``tf.contrib`` of TensorFlow 1.15, for scripts that get the v1 face.

Its modules are made when a script looks for them. They hold nothing themselves: a name is taken from the modules that
the table of ``drynpu_tf1_contrib`` lists for its place. For what none of them has, an error says what to take instead.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from drynpu_tf.face import CONTRIB as PACKAGE
from drynpu_tf1_contrib import PLACES, SLIM
from drynpu_tf1_contrib._absence import absence, without_slim

_STANDARD = ("__future__", "collections.abc", "typing")


class ContribFinder(MetaPathFinder, Loader):
    """Finds ``tensorflow.contrib`` and the modules below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """
        Answer for the modules of the table.

        Raises
        ------
        ModuleNotFoundError
            The table has no such module. It does not bear the module's name, so that Python shows it to a script that
            imports a name from a package.
        """
        del path, target
        if f"{fullname}.".startswith(f"{PACKAGE}."):
            place = _place(fullname)
            if place in PLACES:
                return ModuleSpec(fullname, self, is_package=True)
            raise ModuleNotFoundError(_why_absent(place), name=PACKAGE)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make the module that looks for its names elsewhere."""
        return _Contrib(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module as it is."""


class _Contrib(ModuleType):
    """A module of ``tf.contrib``: its names come from the modules that the table lists for it."""

    def __getattr__(self, name: str) -> Any:
        place = _place(self.__name__)
        if name == "__all__":
            return sorted(set(_public_names(place)))
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # Imported here because every script gets the finder, also where TensorFlow is not installed.
        from drynpu_tf.quiet import without_deprecations

        path = f"{place}.{name}".lstrip(".")
        if path in PLACES:
            return importlib.import_module(f"{PACKAGE}.{path}")
        for source in PLACES[place]:
            with without_deprecations():
                value = getattr(_module(source), name, None)
            if value is not None:
                setattr(self, name, value)
                return value
        raise AttributeError(_why_absent(path))

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *_public_names(_place(self.__name__))})


def _place(module: str) -> str:
    """Return the path of a module below ``tensorflow.contrib``."""
    return module.removeprefix(PACKAGE).lstrip(".")


def _public_names(place: str) -> Iterator[str]:
    """Yield the names that a module had in public: modules of ``tensorflow.python`` hold more than those."""
    start = f"{place}." if place else ""
    yield from (path.removeprefix(start).partition(".")[0] for path in PLACES if path and path.startswith(start))
    for source in PLACES[place]:
        if not source.startswith("tensorflow.python."):
            yield from _names_of(_module(source))


def _names_of(module: ModuleType | None) -> Iterator[str]:
    """Yield what a module lists, or what it holds itself: no modules, and nothing of the standard library."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        yield from listed
        return
    from drynpu_tf.quiet import without_deprecations

    for name in dir(module) if module is not None else ():
        with without_deprecations():
            value = getattr(module, name)
        foreign = isinstance(value, ModuleType) or getattr(value, "__module__", "") in _STANDARD
        if not name.startswith("_") and not foreign:
            yield name


def _module(source: str) -> ModuleType | None:
    """Return a module of the table, ``None`` if it belongs to tf_slim and that is not installed."""
    try:
        return importlib.import_module(source)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != SLIM:
            raise
        return None


def _why_absent(path: str) -> str:
    """Return the message for a path below ``tf.contrib`` that nothing holds."""
    place = path
    while place and place not in PLACES:
        place = place.rpartition(".")[0]
    needs_slim = any(source.startswith(SLIM) for source in PLACES[place])
    return without_slim(path) if needs_slim and _module(SLIM) is None else absence(path)
