"""Activations and losses as modules."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from drynpu_torch_operators.contrib._checks import deprecated, require
from drynpu_torch_operators.contrib.functions import dropout_with_byte_mask


class Mish(nn.Module):
    """``x * tanh(softplus(x))``."""

    def __init__(self) -> None:
        super().__init__()
        deprecated("module.Mish", "Please use torch.nn.Mish as a replacement.")

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of *x*."""
        return torch.ops.npu.npu_mish(x)  # type: ignore[no-any-return]


class SiLU(nn.Module):
    """``x * sigmoid(x)``."""

    def __init__(self) -> None:
        super().__init__()
        deprecated("module.SiLU", "Please use torch.nn.SiLU as a replacement.")

    def forward(self, x: Tensor) -> Tensor:
        """Return the activation of *x*."""
        return torch.ops.npu.npu_silu(x)  # type: ignore[no-any-return]


Swish = SiLU


class LabelSmoothingCrossEntropy(nn.Module):
    """Cross entropy whose labels give a share of *smooth_factor* to all other classes."""

    def __init__(self, num_classes: int = 1000, smooth_factor: float = 0.0) -> None:
        super().__init__()
        self.on_value = 1.0 - smooth_factor
        self.off_value = smooth_factor / (num_classes - 1)

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """Return the mean loss of scores [n, classes] for the classes *target* [n], in FP32."""
        shares = torch.ops.npu.npu_one_hot(target.int(), -1, pred.size(1), self.on_value, self.off_value)
        loss = torch.ops.npu.npu_softmax_cross_entropy_with_logits(pred, shares)
        return torch.mean(loss, [0], keepdim=False, dtype=torch.float32)


class DropoutWithByteMask(nn.Module):
    """Dropout by a mask of bytes."""

    def __init__(self, p: float = 0.5, inplace: bool = False, max_seed: int = 2**10 - 1) -> None:
        super().__init__()
        del max_seed
        require(0 <= p <= 1, f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input1: Tensor) -> Tensor:
        """Return what dropout leaves of *input1*."""
        return dropout_with_byte_mask(input1, self.p, self.training, self.inplace)
