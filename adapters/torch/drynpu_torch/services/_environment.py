"""Which releases are here, what the environment asks of ``import torch_npu``, and what setup scripts compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils import collect_env

from drynpu import cann_release, facade_version

if TYPE_CHECKING:
    from setuptools import Extension

_LIBRARIES: Final = ("c10", "torch", "torch_cpu", "torch_python")
_TRANSFER: Final = "TORCH_TRANSFER_TO_NPU"


def describe_environment() -> str:
    """Return what PyTorch says of the environment, after the releases of torch_npu's facade and CANN."""
    text: str = collect_env.get_pretty_env_info()  # type: ignore[no-untyped-call]
    return f"Torch-npu version: {facade_version(torch.__version__)}\nCANN: {cann_release()} (simulated)\n\n{text}"


def is_transfer_wanted(environment: Mapping[str, str]) -> bool:
    """
    Return whether CUDA scripts shall run as NPU scripts without a line of their own: ``TORCH_TRANSFER_TO_NPU=1``.

    Raises
    ------
    ValueError
        The variable is neither 0 nor 1.
    """
    value = environment.get(_TRANSFER, "0")
    if value == "1":
        return True
    if value != "0":
        raise ValueError(f"Invalid value for {_TRANSFER}: {value}. Only '0' or '1' is supported.")
    return False


def describe_extension(name: str, sources: Sequence[str], *arguments: Any, **options: Any) -> Extension:
    """
    Return what setuptools compiles: sources against PyTorch.

    There is no CANN: what includes its headers does not compile, and the compiler says so.
    """
    from setuptools import Extension
    from torch.utils import cpp_extension

    options["include_dirs"] = [*options.get("include_dirs", ()), *cpp_extension.include_paths()]
    options["library_dirs"] = [*options.get("library_dirs", ()), *cpp_extension.library_paths()]
    options["libraries"] = [*options.get("libraries", ()), *_LIBRARIES]
    return Extension(name, list(sources), *arguments, **{**options, "language": "c++"})
