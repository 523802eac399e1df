"""Softmax attention of stacks of heads, forward and backward, in the type in which vector units compute."""

from __future__ import annotations

import math

import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.operators._heads import Stack
from drynpu_torch_operators.operators._numbers import wide

ADD_THEN_SCALE, SCALE_THEN_ADD, ALIBI, ALIBI_ROOT = 1, 0, 2, 3
"""Numbers of ``pse_type``: how a position shift joins the scores."""


@frozen(eq=False, kw_only=True)
class Scoring:
    """
    How pairs are scored.

    ``shift`` is added before scaling or behind it; with the two alibi types it holds a slope for each head. ``sink``
    has one number for each head that counts in the denominator alone. ``origin`` are the positions of the first query
    and the first key, for alibi.
    """

    scale: float
    shift: Tensor | None = None
    shift_type: int = ADD_THEN_SCALE
    sink: Tensor | None = None
    origin: tuple[int, int] = (0, 0)

    def scores(self, stack: Stack, kept: Tensor | None) -> Tensor:
        """Return scores [batch, heads, queries, keys]; dropped pairs are -inf."""
        products = wide(stack.query) @ wide(stack.for_each_head(stack.key)).transpose(-1, -2)
        if self.shift is None:
            scores = products * self.scale
        elif self.shift_type == ADD_THEN_SCALE:
            scores = (products + self._shift(stack)) * self.scale
        elif self.shift_type == SCALE_THEN_ADD:
            scores = products * self.scale + self._shift(stack)
        else:
            scores = products * self.scale + self._alibi(stack)
        return scores if kept is None else scores.masked_fill(~kept, -math.inf)

    def _shift(self, stack: Stack) -> Tensor:
        assert self.shift is not None
        # The compressed form of a causal shift holds the last rows alone; their columns count from the diagonal.
        return wide(self.shift)[..., : stack.lengths[0], : stack.lengths[1]]

    def _alibi(self, stack: Stack) -> Tensor:
        assert self.shift is not None
        queries, keys = stack.lengths
        device = stack.query.device
        rows = torch.arange(queries, device=device).unsqueeze(1) + self.origin[0]
        distance = (rows - torch.arange(keys, device=device) - self.origin[1]).abs().to(wide(stack.query).dtype)
        distance = distance.sqrt() if self.shift_type == ALIBI_ROOT else distance
        return -wide(self.shift).reshape(-1, stack.query.shape[1], 1, 1) * distance


@frozen(eq=False)
class Attended:
    """Results of a stack: output [batch, heads, queries, width], maximum and sum [batch, heads, queries, 1]."""

    out: Tensor
    maximum: Tensor
    total: Tensor

    @property
    def log_sum(self) -> Tensor:
        """Logarithm of the sum of exponentials, -inf for rows without any pair."""
        return self.maximum + self.total.log()


def attend(stack: Stack, scoring: Scoring, kept: Tensor | None, dropout: Tensor | None = None) -> Attended:
    """Return the weighted sums of values; rows without any kept pair are 0. *dropout* multiplies the weights."""
    scores = scoring.scores(stack, kept)
    maximum = scores.amax(-1, keepdim=True) if scores.shape[-1] else scores.new_full((*scores.shape[:-1], 1), -math.inf)
    finite = maximum.masked_fill(maximum == -math.inf, 0)
    weights = (scores - finite).exp()
    total = weights.sum(-1, keepdim=True)
    if scoring.sink is not None:
        total = total + (wide(scoring.sink).reshape(1, -1, 1, 1) - finite).exp()
    weights = weights / torch.where(total == 0, 1, total)
    weights = weights if dropout is None else weights * dropout
    return Attended(weights @ wide(stack.for_each_head(stack.value)), maximum, total)


@frozen(eq=False)
class StackGradients:
    """Gradients of query, key and value, of the scores before the shift was scaled, and of the sink."""

    query: Tensor
    key: Tensor
    value: Tensor
    shift: Tensor
    sink: Tensor | None


def attend_backward(
    stack: Stack, scoring: Scoring, kept: Tensor | None, dropout: Tensor | None, attended: Attended, grad: Tensor
) -> StackGradients:
    """
    Return the gradients of :func:`attend`.

    Maximum, sum and output belong to *attended*: a part of the keys may be given with the final ones of all.
    """
    finite = attended.maximum.masked_fill(attended.maximum == -math.inf, 0)
    total = torch.where(attended.total == 0, 1, attended.total)
    weights = (scoring.scores(stack, kept) - finite).exp() / total
    dropped = weights if dropout is None else weights * dropout
    dvalue = dropped.transpose(-1, -2) @ grad
    dweights = grad @ wide(stack.for_each_head(stack.value)).transpose(-1, -2)
    dweights = dweights if dropout is None else dweights * dropout
    share = (grad * attended.out).sum(-1, keepdim=True)
    dscores = weights * (dweights - share)
    dquery = scoring.scale * dscores @ wide(stack.for_each_head(stack.key))
    dkey = scoring.scale * dscores.transpose(-1, -2) @ wide(stack.query)
    dsink = None
    if scoring.sink is not None:
        weight = (wide(scoring.sink).reshape(1, -1, 1, 1) - finite).exp() / total
        dsink = -(weight * share).sum((0, 2, 3))
    heads = stack.key.shape[1]
    return StackGradients(
        dquery,
        stack.summed_heads(dkey, heads),
        stack.summed_heads(dvalue, heads),
        dscores * scoring.scale if scoring.shift_type == ADD_THEN_SCALE else dscores,
        dsink,
    )
