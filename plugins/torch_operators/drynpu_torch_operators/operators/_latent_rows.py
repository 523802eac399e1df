"""Rows of the caches of multi-head latent attention: their norm, their rotation, and where they are written."""

from __future__ import annotations

import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.operators._numbers import wide

_BY_POSITION = "Norm"
BLOCK_MODES = ("PA", "PA_BNSD", "PA_BSND", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_BSND", "PA_BLK_NZ")
"""Values of ``cache_mode`` for caches in blocks."""
MODES = (_BY_POSITION, *BLOCK_MODES)
_FRACTAL_BYTES = 32
"""Bytes of a row of a fractal: 16 numbers of 16 bits, 32 of 8."""


def norm(x: Tensor, gamma: Tensor, epsilon: float) -> Tensor:
    """Return *x* divided by its root mean square, times *gamma*."""
    return x * x.square().mean(-1, keepdim=True).add(epsilon).rsqrt() * wide(gamma)


def rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Return pairs of *x* rotated; the result has their first numbers before their second ones."""
    first, second = x[..., ::2], x[..., 1::2]
    return torch.cat((first, second), -1) * wide(cos) + torch.cat((-second, first), -1) * wide(sin)


@frozen(eq=False)
class Store:
    """
    Where rows go in a cache.

    ``index`` holds a position for each batch and token (mode Norm), a slot for each token, or the slot at which each
    block of tokens begins (modes PA_BLK). Negative ones are skipped.
    """

    mode: str
    index: Tensor

    def write(self, cache: Tensor, rows: Tensor) -> None:
        """Write rows [batch, tokens, width]."""
        batch, tokens, width = rows.shape
        if self.mode == _BY_POSITION:
            place = self.index.reshape(batch, tokens).long()
            valid = place >= 0
            number = torch.arange(batch, device=rows.device).unsqueeze(1).expand_as(place)
            cache[number[valid], 0, place[valid]] = rows[valid].to(cache.dtype)
            return
        size = cache.shape[1]
        slots = self._slots(batch, tokens, size)
        valid = slots >= 0
        slots, flat = slots[valid], rows.reshape(-1, width)[valid].to(cache.dtype)
        if self.mode.endswith("_NZ"):
            inner = _FRACTAL_BYTES // cache.element_size()
            blocks = cache.view(cache.shape[0], width // inner, size, inner)
            blocks[slots // size, :, slots % size] = flat.reshape(len(slots), -1, inner)
        else:
            cache[slots // size, slots % size] = flat.reshape(len(slots), *cache.shape[2:])

    def _slots(self, batch: int, tokens: int, size: int) -> Tensor:
        slots = self.index.reshape(-1).long()
        if not self.mode.startswith("PA_BLK"):
            return slots
        inside = torch.arange(tokens, device=slots.device)
        begins = slots.reshape(batch, -1)[:, inside // size]
        return torch.where(begins < 0, -1, begins // size * size + inside % size).reshape(-1)
