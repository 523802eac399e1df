"""Registration of torch_npu's operators when one of them is looked up for the first time."""

from __future__ import annotations

import threading
from typing import Any, Final

import torch

_LOCK: Final = threading.RLock()


class _DeferredOperators(torch._ops._OpNamespace):
    """``torch.ops.npu`` until a name is looked up in it; from then on it is an ordinary namespace."""

    def __getattr__(self, name: str) -> Any:
        with _LOCK:
            if type(self) is _DeferredOperators and not self.__dict__.get("_is_registering"):
                # Registering looks names up here, too.
                self.__dict__["_is_registering"] = True
                from drynpu_torch.operators import register

                register()
                self.__class__ = torch._ops._OpNamespace  # type: ignore[assignment]
        return self.__dict__[name] if name in self.__dict__ else torch._ops._OpNamespace.__getattr__(self, name)


def defer_operators() -> None:
    """
    Let the first lookup in ``torch.ops.npu`` register the operators.

    Registering takes a tenth of a second, which every Python process that imports PyTorch would spend.
    """
    torch.ops.npu.__class__ = _DeferredOperators
