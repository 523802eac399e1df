"""Extensions in C++ that setup scripts compile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setuptools import Extension

_LIBRARIES = ("c10", "torch", "torch_cpu", "torch_python")


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
