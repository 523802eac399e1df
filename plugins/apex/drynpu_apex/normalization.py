"""Layer norms as ``apex.normalization`` has them; on an NPU the module is PyTorch's layer norm."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from torch.autograd import Function
from torch.nn import functional


class FusedLayerNorm(nn.Module):
    """
    Layer norm over the last dimensions.

    Parameters
    ----------
    normalized_shape:
        The sizes of those dimensions, or the size of the last.
    eps:
        What is added to the variance.
    elementwise_affine:
        Whether there are a weight and a bias.
    """

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float = 1e-5, elementwise_affine: bool = True
    ) -> None:
        super().__init__()
        sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = torch.Size(sizes)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = nn.Parameter(torch.empty(sizes)) if elementwise_affine else None
        self.bias = nn.Parameter(torch.empty(sizes)) if elementwise_affine else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias to zero."""
        if self.weight is not None and self.bias is not None:
            nn.init.ones_(self.weight)
            nn.init.zeros_(self.bias)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """Return *input* normalised."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return what the module's text says of it."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class FusedLayerNormAffineFunction(Function):
    """NVIDIA's kernel, which no NPU has: using it raises a ``ModuleNotFoundError``, as apex does there."""

    @staticmethod
    def forward(ctx: object, *arguments: object) -> Any:
        """Raise."""
        del ctx, arguments
        importlib.import_module("fused_layer_norm_cuda")


class FusedLayerNormFunction(FusedLayerNormAffineFunction):
    """The same kernel without weight and bias; using it raises a ``ModuleNotFoundError``."""


def fused_layer_norm_affine(
    input: torch.Tensor, normalized_shape: object, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-6
) -> Any:
    """Raise a ``ModuleNotFoundError``, as apex does without its CUDA extensions."""
    return FusedLayerNormAffineFunction.apply(input, weight, bias, normalized_shape, eps)  # type: ignore[no-untyped-call]


def fused_layer_norm(input: torch.Tensor, normalized_shape: object, eps: float = 1e-6) -> Any:
    """Raise a ``ModuleNotFoundError``, as apex does without its CUDA extensions."""
    return FusedLayerNormFunction.apply(input, normalized_shape, eps)  # type: ignore[no-untyped-call]
