"""Functions that take fewer or faster operators on an NPU than the plain ones of PyTorch."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from drynpu_torch_operators.contrib._checks import require
from drynpu_torch_operators.operators import errors

_FUSED_LENGTHS: Final = (128, 256, 384, 512)
_FUSED_ROWS: Final = 32
"""Shapes of scores for which softmax, mask and dropout are one operator (contrib/function/fuse_add_softmax_dropout)."""


def npu_fast_condition_index_put(x: Tensor, condition: Tensor, value: float) -> Tensor:
    """Return *x* with *value* where *condition* holds."""
    text = "Expected condition.dtype in [torch.bool]"
    require(condition.dtype is torch.bool, text, errors.TYPE, TypeError)
    if value == 0:
        filled = torch.zeros_like(x)
    else:
        filled = torch.ones_like(x) if value == 1 else torch.zeros_like(x) + value
    return torch.where(condition, filled, x)


def fuse_add_softmax_dropout(
    training: bool,
    dropout: Callable[[Tensor], Tensor],
    attn_mask: Tensor,
    attn_scores: Tensor,
    attn_head_size: float,
    p: float = 0.5,
    dim: int = -1,
) -> Tensor:
    """Return dropout of the softmax of ``mask + scores / sqrt(head size)``, for scores of four dimensions."""
    del dim  # The vendor's function takes the last one, whatever it is given.
    scale = 1 / math.sqrt(attn_head_size)
    batch, heads, length, _ = attn_scores.size()
    if length in _FUSED_LENGTHS and (batch * heads) % _FUSED_ROWS == 0:
        fused = torch.ops.npu.npu_dropout_with_add_softmax
        return fused(attn_scores, attn_mask, scale, p if training else 0.0, -1)[2]  # type: ignore[no-any-return]
    scores = torch.add(attn_mask, attn_scores, alpha=scale)
    return dropout(torch.nn.functional.softmax(scores, dim=-1))


def dropout_with_byte_mask(input1: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Return dropout of a tensor by a mask of bytes."""
    require(0.0 <= p <= 1.0, f"dropout probability has to be between 0 and 1, but got {p}")
    require(not inplace, "dropout probability has no-inplace computing.")
    return torch.ops.npu.dropout_with_byte_mask(input1, p, training)  # type: ignore[no-any-return]


class MatmulApply(torch.autograd.Function):
    """The product with a transposed matrix, whose gradients are products without a transposed copy."""

    @staticmethod
    def forward(ctx: Any, self: Tensor, mat2: Tensor) -> Tensor:
        """Return ``self @ mat2.transpose(-2, -1)``."""
        ctx.save_for_backward(self, mat2)
        return torch.matmul(self, mat2.transpose(-2, -1)).detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of both."""
        one, two = ctx.saved_tensors
        product = torch.ops.npu.npu_bmmV2
        return product(grad, two, []), product(grad.transpose(-2, -1), one, [])


matmul_transpose = MatmulApply.apply


class _Roll(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, there: Tensor, back: Tensor) -> Tensor:
        ctx.back = back
        return x.flatten(1, 2).index_select(1, there).reshape(x.shape)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return grad.flatten(1, 2).index_select(1, ctx.back).reshape(grad.shape), None, None


@functools.cache
def _roll_places(height: int, width: int, shifts: tuple[int, int], device: torch.device) -> tuple[Tensor, Tensor]:
    there = torch.arange(height * width, device="cpu").reshape(height, width).roll(shifts, (0, 1)).flatten()
    return there.to(device), there.argsort().to(device)


def roll(x: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> Tensor:
    """Return *x* [batch, height, width, channels] with rows and columns shifted, whatever *dims* says."""
    require(x.dim() == 4, "Expected x.dim() == 4")
    require(len(shifts) == 2, "Expected len(shifts) == 2")
    require(len(dims) == 2, "Expected len(dims) == 2")
    places = _roll_places(x.shape[1], x.shape[2], (shifts[0], shifts[1]), x.device)
    return _Roll.apply(x, *places)  # type: ignore[no-any-return, no-untyped-call]
