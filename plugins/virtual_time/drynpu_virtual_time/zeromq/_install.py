"""Puts the backend under pyzmq, whenever a script imports that."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

from attrs import define, field

from drynpu import say_once
from drynpu_virtual_time.zeromq import _streams

_BACKEND: Final = "PYZMQ_BACKEND"
_OURS: Final = "drynpu_virtual_time.zeromq.backend"
_NAME: Final = "zmq.backend"


def serve_zeromq() -> None:
    """
    Let pyzmq, once it is imported, carry messages on the clock.

    N36, docs/tricks.md
    """
    if _NAME in sys.modules:
        say_once(f"virtual time: {_without('it was imported before the clock began')}")
    elif _streams.are_possible() and _BACKEND not in os.environ:
        sys.meta_path.insert(0, _Finder())


def _without(reason: str) -> str:
    return f"ZeroMQ delivers at this machine's time ({reason}); processes that talk over it may wait for ever"


@define(eq=False)
class _Finder(MetaPathFinder):
    """Finds pyzmq's choice of a backend, and nothing else."""

    _is_asked: bool = field(default=False)

    def find_spec(self, fullname: str, path: Sequence[str] | None, *_: ModuleType | None) -> ModuleSpec | None:
        del path
        if fullname != _NAME or self._is_asked:
            return None
        self._is_asked = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_asked = False
        if spec is not None and spec.loader is not None:
            _choose_backend(spec.loader)
        return spec


def _choose_backend(loader: Loader) -> None:
    execute = loader.exec_module

    @functools.wraps(execute)
    def execute_with_ours(module: ModuleType) -> None:
        os.environ[_BACKEND] = _OURS
        try:
            execute(module)
        except Exception as error:  # noqa: BLE001 - whatever this release lacks
            del os.environ[_BACKEND]
            say_once(f"virtual time: {_without(str(error))}")
            execute(module)
        finally:
            os.environ.pop(_BACKEND, None)

    loader.exec_module = execute_with_ours  # type: ignore[method-assign]
