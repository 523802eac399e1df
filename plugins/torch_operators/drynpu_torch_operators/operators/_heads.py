"""Layouts of attention: BSH, SBH, BNSD, BSND and TND as stacks of heads, and back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from attrs import frozen
from torch import Tensor

DENSE = ("BSH", "SBH", "BNSD", "BSND")
PACKED = "TND"


@frozen(eq=False)
class Stack:
    """
    Query, key and value of sequences of equal lengths: [batch, heads, tokens, width].

    ``sequence`` is the number of the first one; ``last`` tells whether no other stack follows.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    sequence: int = 0
    last: bool = True

    @property
    def lengths(self) -> tuple[int, int]:
        """Tokens of the queries and of the keys."""
        return self.query.shape[2], self.key.shape[2]

    def for_each_head(self, tensor: Tensor) -> Tensor:
        """Return keys or values with one head for each head of the queries."""
        return tensor.repeat_interleave(self.query.shape[1] // tensor.shape[1], 1)

    def summed_heads(self, tensor: Tensor, heads: int) -> Tensor:
        """Return gradients of keys or values, summed over the heads of the queries that share one."""
        return tensor.reshape(tensor.shape[0], heads, -1, *tensor.shape[2:]).sum(2)


def with_heads(x: Tensor, layout: str, width: int) -> Tensor:
    """Return a dense tensor as [batch, heads, tokens, width]; *width* matters where the layout joins heads."""
    if layout == "BNSD":
        return x
    if layout == "SBH":
        x = x.transpose(0, 1)
    if layout in ("BSH", "SBH"):
        x = x.reshape(*x.shape[:-1], -1, width)
    return x.transpose(1, 2)


def without_heads(x: Tensor, layout: str) -> Tensor:
    """Return [batch, heads, tokens, width] in a dense *layout*."""
    if layout != "BNSD":
        x = x.transpose(1, 2)
    if layout in ("BSH", "SBH"):
        x = x.flatten(2)
    return (x.transpose(0, 1) if layout == "SBH" else x).contiguous()


def widths(query: Tensor, key: Tensor, value: Tensor, layout: str, heads: int) -> tuple[int, int]:
    """Return the width of a head of queries and keys, and of values."""
    if layout not in ("BSH", "SBH"):
        return query.shape[-1], value.shape[-1]
    width = query.shape[-1] // heads
    return width, value.shape[-1] // max(key.shape[-1] // width, 1)


def bounds(ends: Sequence[int]) -> list[tuple[int, int]]:
    """Return begin and end of sequences whose *ends* are cumulative; those that no end follows are empty."""
    starts = [0, *ends]
    return [(begin, max(begin, end)) for begin, end in zip(starts, ends, strict=False)]


def stacks(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    layout: str,
    heads: int,
    ends: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Iterator[Stack]:
    """Yield one stack of a dense layout, or one for each sequence of the packed one."""
    if layout != PACKED:
        width, value_width = widths(query, key, value, layout, heads)
        keys, values = with_heads(key, layout, width), with_heads(value, layout, value_width)
        yield Stack(with_heads(query, layout, width), keys, values)
        return
    pieces = list(zip(bounds(ends[0]), bounds(ends[1]), strict=True))
    for number, ((q_begin, q_end), (kv_begin, kv_end)) in enumerate(pieces):
        parts = query[q_begin:q_end], key[kv_begin:kv_end], value[kv_begin:kv_end]
        queries, keys, values = (part.transpose(0, 1).unsqueeze(0) for part in parts)
        yield Stack(queries, keys, values, sequence=number, last=number == len(pieces) - 1)


def joined(parts: Sequence[Tensor], layout: str, tokens: int) -> Tensor:
    """Return stacks in *layout*; tokens behind the last packed sequence are 0."""
    if layout != PACKED:
        return without_heads(parts[0], layout)
    rows = torch.cat([part.squeeze(0).transpose(0, 1) for part in parts])
    return torch.cat((rows, rows.new_zeros(tokens - rows.shape[0], *rows.shape[1:])))
