"""The body of the facade; it runs only where no genuine torch_npu is found."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from drynpu import facade_version, require

torch = require("torch", "torch")

from drynpu.plugins import join_parts, missing_part  # noqa: E402 - as the next; without extras there is no pluggy
from drynpu_torch.deferred_operators import check_operator  # noqa: E402 - require says which extra to install first
from drynpu_torch.device import (  # noqa: E402
    alias_modules,
    erase_stream,
    get_npu_format,
    npu_format_cast,
    npu_format_cast_,
)
from drynpu_torch.device import change_data_ptr as npu_change_data_ptr  # noqa: E402
from drynpu_torch.device import npu as npu  # noqa: E402
from drynpu_torch.install import install  # noqa: E402

install()
alias_modules("torch_npu.npu")
parts = join_parts("torch_npu")

from torch_npu import (  # noqa: E402 - they find the device in place
    _C,
    contrib,
    distributed,
    profiler,
    utils,
)

from drynpu_torch.services import (  # noqa: E402
    Format,
    copy_memory_,
    empty_with_format,
    empty_with_swapped_memory,
    get_storage_size,
    is_transfer_wanted,
    unsupported_dtype,
)

profiler._NonIntrusiveProfile.init()
if is_transfer_wanted(os.environ):
    with suppress(ModuleNotFoundError):  # without the plugin that has it, the finder of the facades says so
        import_module("torch_npu.contrib.transfer_to_npu")
if "TORCH_NPU_SANITIZER" in os.environ:
    with suppress(ModuleNotFoundError):  # without the plugin that has it, the finder of the facades says so
        from torch_npu.npu._sanitizer import npu_sanitizer

        npu_sanitizer.enable()

__version__ = facade_version(torch.__version__)

__all__ = [
    "_C",
    "Format",
    "contrib",
    "copy_memory_",
    "distributed",
    "empty_with_format",
    "get_npu_format",
    "npu",
]
__all__ += [
    "empty_with_swapped_memory",
    "erase_stream",
    "get_storage_size",
    "npu_change_data_ptr",
    "npu_format_cast",
    "npu_format_cast_",
    "profiler",
    "unsupported_dtype",
    "utils",
]

_OPERATORS = ("npu_", "_npu_", "atb", "dynamo", "int4", "hifloat8", "float4_", "float8_")
"""How names begin that a plugin adds."""


def __getattr__(name: str) -> NoReturn:
    if name == "optim":
        raise missing_part(f"torch_npu.{name}", "apex")
    if name.startswith(_OPERATORS):
        check_operator(f"torch_npu.{name}")
    if name.startswith("npu_"):
        raise AttributeError(f"torch_npu.{name} exists in torch_npu, but drynpu does not provide it yet")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
