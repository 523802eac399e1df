"""The body of the facade; it runs only where no genuine torch_npu is found."""

from __future__ import annotations

from typing import NoReturn

from drynpu import require

torch = require("torch", "torch")

from drynpu_torch.deferred_operators import register_operators  # noqa: E402 - require says which extra to install first
from drynpu_torch.device import (  # noqa: E402
    alias_modules,
    get_npu_format,
    install,
    npu_format_cast,
    npu_format_cast_,
)
from drynpu_torch.device import npu as npu  # noqa: E402
from drynpu_torch.operators import TYPE_NUMBERS, exported  # noqa: E402

install()
register_operators()
globals().update(exported() | TYPE_NUMBERS)
alias_modules("torch_npu.npu")

from torch_npu import _C, contrib, profiler  # noqa: E402 - they find the device in place

profiler._NonIntrusiveProfile.init()

__version__ = f"{torch.__version__.partition('+')[0]}+drynpu"

__all__ = ["_C", "contrib", "get_npu_format", "npu", "npu_format_cast", "npu_format_cast_", "profiler"]
__all__ += [*exported(), *TYPE_NUMBERS]

_NOT_PROVIDED = frozenset(
    [
        "Format",
        "copy_memory_",
        "distributed",
        "dynamo",
        "empty_with_format",
        "optim",
        "testing",
        "utils",
    ]
)


def __getattr__(name: str) -> NoReturn:
    if name in _NOT_PROVIDED or name.startswith("npu_"):
        raise AttributeError(f"torch_npu.{name} exists in torch_npu, but drynpu does not provide it yet")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
