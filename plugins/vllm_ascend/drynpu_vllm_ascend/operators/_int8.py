"""INT8 numbers: exact products, rows that are quantised, scales in the forms of the vendor."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

INT8_MOST: Final = 127


def exact_product(x: Tensor, weight: Tensor) -> Tensor:
    """Return the product of integers; sums of INT8 products fit into 53 bits."""
    return x.double() @ weight.double()


def quantised(x: Tensor) -> Tensor:
    """Return the nearest INT8 numbers."""
    return x.round().clamp(-INT8_MOST - 1, INT8_MOST).to(torch.int8)


def quantised_by_row(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows in INT8, and the scale of each, which makes its largest number 127."""
    scales = x.float().abs().amax(-1) / INT8_MOST
    return quantised(x.float() / torch.where(scales == 0, 1.0, scales).unsqueeze(-1)), scales


def numbers(scale: Tensor) -> Tensor:
    """Return scales in FP32; in INT64 the low half holds the bits of one."""
    return scale.to(torch.int32).view(torch.float32) if scale.dtype is torch.int64 else scale.float()


def size_bytes(*tensors: Tensor | None) -> int:
    """Return the bytes of the tensors that are there."""
    return sum(each.numel() * each.element_size() for each in tensors if each is not None)
