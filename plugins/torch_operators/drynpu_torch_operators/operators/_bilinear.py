"""Values of maps between their points."""

from __future__ import annotations

import torch
from torch import Tensor


def bilinear(maps: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """Return [channels, *places] of maps [channels, height, width]; what lies outside is 0."""
    height, width = maps.shape[-2:]
    flat = maps.flatten(-2)
    top, left = rows.floor(), columns.floor()
    total = maps.new_zeros((maps.shape[0], *rows.shape))
    for y, down in ((top, rows - top), (top + 1, rows - top)):
        for x, right in ((left, columns - left), (left + 1, columns - left)):
            share = (down if y is not top else 1 - down) * (right if x is not left else 1 - right)
            inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
            places = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).long()
            total = total + flat[:, places] * torch.where(inside, share, torch.zeros_like(share))
    return total
