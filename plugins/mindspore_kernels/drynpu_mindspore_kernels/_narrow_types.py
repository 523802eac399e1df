"""
The first use of float16 or bfloat16 by a script, and the first graph that it compiles.

A script names the type (``mindspore.bfloat16``), calls ``Tensor.half``, or makes a tensor of numbers of the type.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from drynpu_mindspore.inside import graph_module
from drynpu_mindspore.patching import is_mindspores_own

_TYPES = ("bfloat16", "float16", "half")


def follow_narrow_types(package: ModuleType, widen: Callable[[], None]) -> None:
    """Have *widen* called at the first use of a type of 16 bits by a script, and when it calls ``mindspore.jit``."""
    _follow_tensors(package.Tensor, (package.float16, package.bfloat16), widen)
    for module in (package, importlib.import_module("mindspore.common.dtype")):
        _follow_names(module, widen)
    for module in (package, graph_module(), importlib.import_module("mindspore.common")):
        if hasattr(module, "jit"):
            module.jit = _calling(widen, module.jit)  # type: ignore[attr-defined]


# N17, docs/tricks.md
def _follow_names(module: ModuleType, widen: Callable[[], None]) -> None:
    """Give a module a class in which its types are properties; MindSpore's own modules go on to read them as before."""

    def named(genuine: Any) -> property:
        def read(module: ModuleType) -> Any:
            del module
            if not is_mindspores_own(sys._getframe(1).f_globals.get("__name__", "")):
                widen()
            return genuine

        return property(read)

    types = {name: named(getattr(module, name)) for name in _TYPES if hasattr(module, name)}
    module.__class__ = type("Followed", (module.__class__,), types)


def _follow_tensors(tensor: Any, narrow: tuple[object, ...], widen: Callable[[], None]) -> None:
    genuine_init, genuine_from_numpy, dtype_of = tensor.__init__, tensor.from_numpy, tensor.dtype.__get__

    @functools.wraps(genuine_init)
    def initialise(self: Any, *args: object, **kwargs: object) -> None:
        genuine_init(self, *args, **kwargs)
        if dtype_of(self) in narrow:  # of a subclass the attribute may be the script's
            widen()

    @functools.wraps(genuine_from_numpy)
    def from_numpy(array: object) -> Any:
        if getattr(array, "dtype", None) == "float16":
            widen()
        return genuine_from_numpy(array)

    tensor.__init__, tensor.from_numpy = initialise, staticmethod(from_numpy)
    for name in _TYPES:
        if hasattr(tensor, name):
            setattr(tensor, name, _calling(widen, getattr(tensor, name)))


def _calling(first: Callable[[], None], genuine: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(genuine)
    def call(*args: object, **kwargs: object) -> Any:
        first()
        return genuine(*args, **kwargs)

    return call
