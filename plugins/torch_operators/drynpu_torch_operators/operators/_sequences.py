"""Where the tokens of sequences stand: in a batch, one sequence behind the other, or in the blocks of a cache."""

from __future__ import annotations

from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import PACKED, bounds
from drynpu_torch_operators.operators._values import even_shares, integers, running_ends

BANDS = ("pre_tokens", "next_tokens")
"""Arguments that limit how far a key may be from the diagonal; the vendor takes their defaults alone."""

_ALL, _CAUSAL = 0, 3
_BATCHED, _PAGED = "BSND", "PA_BSND"


@frozen(eq=False, kw_only=True)
class Layout:
    """
    Where the tokens of each sequence stand.

    ``queries`` and ``keys`` are the layouts; lengths count each sequence, or say where each ends if packed.
    """

    queries: str
    keys: str
    query_lengths: list[int]
    key_lengths: list[int]
    table: Tensor | None
    causal: bool

    @classmethod
    def from_call(cls, call: Call) -> Layout:
        """Return the layout of a call. Raises RuntimeError for those that the vendor rejects."""
        a = call.arguments

        def first(*names: str) -> Any:
            return next((a[name] for name in names if a.get(name) is not None), None)

        queries = first("layout_query", "layout") or _BATCHED
        keys = first("layout_key", "layout_kv", "layout") or queries
        text = f"Not support layout of query: {queries}"
        errors.require(queries in (_BATCHED, PACKED), text, errors.VALUE)
        dims = a["query"].dim()
        text = f"When the layout of query is {queries}, the query dimension must be {len(queries)}, but got {dims}"
        errors.require(dims == len(queries), text, errors.VALUE)
        for name in ("query", "key", "value", "sparse_indices"):
            if name in a:
                errors.require(a[name].numel() > 0, f"Input {name} should not be empty.", errors.VALUE)
        mode = a["sparse_mode"]
        text = f"sparse_mode should be 0 or 3, but got {mode}"
        errors.require(mode in (_ALL, _CAUSAL), text, errors.VALUE)
        table = a.get("block_table")
        query_lengths = _lengths(a["query"], queries, first("actual_seq_lengths_query", "actual_seq_qlen"), None)
        key_lengths = first("actual_seq_lengths_key", "actual_seq_lengths_kv", "actual_seq_kvlen")
        return cls(
            queries=queries,
            keys=keys,
            query_lengths=query_lengths,
            key_lengths=_lengths(a["key"], keys, key_lengths, table),
            table=table,
            causal=mode == _CAUSAL,
        )

    @property
    def sequences(self) -> int:
        """Number of sequences."""
        return len(self.query_lengths)

    def rows_of_queries(self, number: int) -> tuple[Any, ...]:
        """Return the index of the queries of a sequence, of any tensor in their layout."""
        if self.queries == PACKED:
            begin, end = bounds(self.query_lengths)[number]
            return (slice(begin, end),)
        return (number, slice(0, self.query_lengths[number]))

    def rows_of_keys(self, tensor: Tensor, number: int) -> tuple[Any, ...]:
        """Return the index of the keys of a sequence, of any tensor in their layout."""
        if self.keys == PACKED:
            begin, end = bounds(self.key_lengths)[number]
            return (slice(begin, end),)
        if self.table is None:
            return (number, slice(0, self.key_lengths[number]))
        place = torch.arange(self.key_lengths[number], device=tensor.device)
        blocks = self.table[number].long()[place // tensor.shape[1]]
        return (blocks, place % tensor.shape[1])

    def visible(self, number: int, device: torch.device) -> Tensor | None:
        """Return the pairs of a query and a key that the mode keeps, None for all."""
        if not self.causal:
            return None
        queries, keys = (
            b[1] - b[0] for b in (self.extents(of_queries=True)[number], self.extents(of_queries=False)[number])
        )
        rows = torch.arange(queries, device=device).unsqueeze(1) + keys - queries
        return torch.arange(keys, device=device) <= rows

    def extents(self, *, of_queries: bool) -> list[tuple[int, int]]:
        """Return begin and end of the queries or of the keys of each sequence, inside it where they are not packed."""
        packed = (self.queries if of_queries else self.keys) == PACKED
        lengths = self.query_lengths if of_queries else self.key_lengths
        return bounds(lengths) if packed else [(0, length) for length in lengths]


def _lengths(tensor: Tensor, layout: str, lengths: Tensor | None, table: Tensor | None) -> list[int]:
    """Return lengths, or ends if packed; all tokens where none are given."""
    if layout == _PAGED:
        text = "block_table and the lengths of the keys are needed where layout is PA_BSND"
        errors.require(table is not None and lengths is not None, text)
        assert table is not None
        assert lengths is not None
        return integers(lengths, [table.shape[1] * tensor.shape[1]] * table.shape[0])
    if layout == PACKED:
        return (
            [tensor.shape[0]]
            if lengths is None
            else integers(lengths, running_ends(even_shares(tensor.shape[0], lengths.numel())))
        )
    whole = [tensor.shape[1]] * tensor.shape[0]
    return whole if lengths is None else integers(lengths, whole)
