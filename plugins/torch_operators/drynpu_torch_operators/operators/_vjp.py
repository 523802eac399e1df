"""Gradients of what an operator computes, by PyTorch's autograd, for operators that are themselves gradients."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

_KEYS = ("AutogradFunctionality", "AutogradCPU", "AutogradMeta", "ADInplaceOrView")


def pulled_back(compute: Callable[..., Tensor], inputs: Sequence[Tensor], grad: Tensor) -> tuple[Tensor, ...]:
    """Return the gradients of ``(compute(*inputs) * grad).sum()`` with respect to floating *inputs*."""
    with _differentiating():
        leaves = [x.detach().requires_grad_() for x in inputs]
        gradients = torch.autograd.grad(compute(*leaves), leaves, grad.detach(), allow_unused=True)
    return tuple(torch.zeros_like(x) if g is None else g for x, g in zip(inputs, gradients, strict=True))


@contextlib.contextmanager
def _differentiating() -> Iterator[None]:
    # Kernels of operators run below autograd, which does not see what they call.
    with contextlib.ExitStack() as keys, torch.enable_grad():
        for key in _KEYS:
            keys.enter_context(torch._C._SetExcludeDispatchKeyGuard(getattr(torch._C.DispatchKey, key), False))
        yield
