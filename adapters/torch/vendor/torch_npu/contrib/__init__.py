"""The facade of ``torch_npu.contrib``; its module ``transfer_to_npu`` takes effect when it is imported."""

from __future__ import annotations

import typing as _typing

from drynpu.plugins import join_parts as _join_parts
from drynpu_torch.deferred_operators import check_operator as _check_operator

_parts = _join_parts(__name__)
globals().update(_parts)
__all__ = [*_parts]

if _typing.TYPE_CHECKING:
    from torch_npu.contrib import function as function
    from torch_npu.contrib import module as module
    from torch_npu.contrib.function import *
    from torch_npu.contrib.module import *


def __getattr__(name: str) -> _typing.NoReturn:
    _check_operator(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
