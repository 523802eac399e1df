"""``torch.compile``: the graph runs operator by operator, so that every operator can become a kernel."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

import torch

_FUSING = ("inductor", "npu")
"""Backends whose fused kernels would be CPU code here: PyTorch's default, and the name of torchair's."""
_OPERATOR_BY_OPERATOR = "aot_eager"
_NOTICE = (
    "the simulated npu does not model fused kernels: torch.compile traces and differentiates the graph, and runs it "
    "operator by operator (backend 'aot_eager' in place of {backend!r}). Name backend='eager' or 'aot_eager' to "
    "silence this."
)


def patch_compile() -> None:
    """Replace ``torch.compile``: backends that fuse give way to one that runs operators; others stay."""
    torch.compile = _operator_by_operator(torch.compile)


def _operator_by_operator(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(*args: Any, backend: Any = _FUSING[0], **kwargs: Any) -> Any:  # noqa: A001 - PyTorch's name
        if backend in _FUSING and not kwargs.get("disable"):
            warnings.warn(_NOTICE.format(backend=backend), stacklevel=2)
            # They belong to the backend that was asked for.
            kwargs = {name: value for name, value in kwargs.items() if name not in ("mode", "options")}
            backend = _OPERATOR_BY_OPERATOR
        return original(*args, backend=backend, **kwargs)

    return compile
