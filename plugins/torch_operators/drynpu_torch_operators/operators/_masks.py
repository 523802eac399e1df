"""Which pairs of a query and a key attention keeps: the sparse modes of the vendor's operators."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from attrs import evolve, frozen
from torch import Tensor

from drynpu_torch_operators.operators._heads import Stack

DEFAULT, ALL, LEFT_UP, RIGHT_DOWN, BAND, PREFIX, PREFIX_COMPRESSED, LAST_BAND, FIRST_BAND = range(9)
_BY_PATTERN = (LEFT_UP, RIGHT_DOWN, BAND, PREFIX_COMPRESSED, LAST_BAND, FIRST_BAND)
"""Modes whose mask is a small pattern: what is kept follows from the mode alone."""


@frozen(eq=False)
class Mask:
    """
    A mask of dropped pairs and how it is used.

    ``dropped`` is True or 1 for pairs to drop; without it everything is kept. ``before`` and ``behind`` bound the
    distance of a key from the diagonal (``pre_tockens``, ``next_tockens``). ``prefix`` has a length for each sequence.
    """

    dropped: Tensor | None
    mode: int = DEFAULT
    before: int = 2**31 - 1
    behind: int = 2**31 - 1
    prefix: Sequence[int] = ()

    def kept(self, stack: Stack) -> Tensor | None:
        """Return True for the pairs that are kept, broadcastable to the scores; None for all."""
        if self.dropped is None:
            return None
        pattern = self.pattern(stack)
        if self.mode in _BY_PATTERN:
            return pattern
        queries, keys = stack.lengths
        full = ~self.dropped[..., :queries, :keys].bool()
        full = full if full.dim() > 3 or full.dim() == 2 else full.unsqueeze(1)
        return full if pattern is None else full & pattern

    def pattern(self, stack: Stack) -> Tensor | None:
        """Return the pairs that the mode keeps whatever the mask holds; the kernel skips all others."""
        if self.dropped is None or self.mode in (ALL, PREFIX):
            return None
        queries, keys = stack.lengths
        device = "cpu" if stack.query.device.type == "meta" else stack.query.device
        row, column = torch.arange(queries, device=device).unsqueeze(1), torch.arange(keys, device=device)
        aligned = row + keys - queries
        if self.mode == LEFT_UP:
            return column <= row
        if self.mode == RIGHT_DOWN:
            return column <= aligned
        if self.mode == PREFIX_COMPRESSED:
            begin = stack.sequence
            lengths = torch.tensor(list(self.prefix[begin : begin + stack.query.shape[0]]), device=device)
            return (column <= aligned) | (column < lengths.reshape(-1, 1, 1, 1))
        if self.mode == LAST_BAND and not stack.last:
            return column <= aligned
        if self.mode == FIRST_BAND and stack.sequence:
            return column <= row
        base = row if self.mode in (DEFAULT, FIRST_BAND) else aligned
        return (column >= base - self.before) & (column <= base + self.behind)

    def pairs(self, stack: Stack) -> int:
        """Return how many pairs are computed, over all sequences and heads of a stack."""
        batch, heads, queries, _ = stack.query.shape
        pattern = self.pattern(stack)
        if pattern is None:
            return batch * heads * queries * stack.key.shape[2]
        share = batch if pattern.dim() < 4 or pattern.shape[0] == 1 else 1
        return int(pattern.sum()) * heads * share

    def unlimited(self) -> Mask:
        """Return the mask without bounds on the distance from the diagonal."""
        return evolve(self, before=2**62, behind=2**62)
