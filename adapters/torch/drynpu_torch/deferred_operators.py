"""
Registration of torch_npu's operators, at once or when one of them is looked up for the first time.

The plugin ``torch_operators`` brings them; without it an error names it where one is looked up.
"""

from __future__ import annotations

import threading
from typing import Any, Final

import torch

from drynpu.plugins import missing_part
from drynpu_torch.device import state

_PLUGIN: Final = "torch_operators"
_LOCK: Final = threading.RLock()
_MODULE: Final = torch._ops.__name__
"""What classes of namespaces have to call their module: operators take their own from it, and PyTorch writes that into
the code of graphs, which a later process reads."""


# N19, docs/tricks.md
class _DeferredOperators(torch._ops._OpNamespace):
    """``torch.ops.npu`` until a name is looked up in it; from then on it is an ordinary namespace."""

    __module__ = _MODULE

    def __getattr__(self, name: str) -> Any:
        register_operators()
        if name in self.__dict__:
            return self.__dict__[name]
        try:
            return torch._ops._OpNamespace.__getattr__(self, name)
        except AttributeError:
            check_operator(f"torch.ops.npu.{name}")
            raise


class _Operators(torch._ops._OpNamespace):
    """``torch.ops.npu`` while the operators are registered, which looks names up in it; other threads wait."""

    __module__ = _MODULE

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            return self.__dict__[name] if name in self.__dict__ else torch._ops._OpNamespace.__getattr__(self, name)


def defer_operators() -> None:
    """
    Let the first lookup in ``torch.ops.npu`` register the operators.

    Registering takes a tenth of a second, which every Python process that imports PyTorch would spend.
    """
    torch.ops.npu.__class__ = _DeferredOperators


def register_operators() -> None:
    """Register the operators unless that was done before, or nothing brings them."""
    with _LOCK:
        register = state().new_operators
        if register is None or type(torch.ops.npu) is _Operators:
            return  # this thread is registering them
        torch.ops.npu.__class__ = _Operators
        register()
        torch.ops.npu.__class__ = torch._ops._OpNamespace


def check_operator(name: str) -> None:
    """
    Check that the operators of torch_npu are here, because *name* is looked up, which belongs to them.

    Raises
    ------
    AttributeError
        The plugin that brings them is off.
    """
    if state().new_operators is None:
        raise missing_part(name, _PLUGIN) from None
