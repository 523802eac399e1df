"""
What the shapes of an attention say about its work: how many pairs of a query and a key there are, how wide they are.

Layouts are told apart by what fits together: BSH and SBH by the dim that queries and keys share, packed tokens (TND) by
a width that is a head's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._access import INDEX_DTYPES
from drynpu.kernels._types import DTYPES, TensorDesc

Tensors = Sequence[TensorDesc]

_STATISTICS_WIDTH = 8
_PAGE_SIZES = frozenset({16, 32, 64, 128, 256, 512})
_COMPRESSED_MASK = 2048
HEAD_WIDTH = 128
"""Width of a head where no shape tells it."""
_WIDEST_HEAD = 256
_ROTARY_WIDTH = 64
"""Width of the part of queries and keys that latent attention rotates and passes as tensors of its own."""


@frozen
class Pairs:
    """
    Pairs of a query and a key, over batch and heads.

    ``computed`` leaves out those that a causal mask leaves out. A score sums over ``width`` products, a value has
    ``value_width`` elements. ``key_bytes`` count the keys and values in a ``paged`` cache that the sequences reach.
    Keys are ``cached`` where there are more of them than queries: earlier steps made them. The shapes have ``stated``
    all lengths unless keys are in pages or several sequences are packed.
    """

    computed: float
    width: int
    value_width: int
    key_bytes: int = 0
    paged: bool = False
    cached: bool = False
    stated: bool = True
    heads: int = 1
    """Of all sequences; ``key_heads`` likewise: several heads of queries may share one of keys."""
    key_heads: int = 1
    queries: int = 1
    """Of one sequence, as ``keys``: their mean where sequences differ."""
    keys: float = 1.0


@frozen
class _Queries:
    """Queries of every sequence and head; ``sequence_dim`` is the dim of their tensor that counts sequences."""

    heads: int
    length: int
    sequences: int
    width: int
    sequence_dim: int | None = None


@frozen
class _Keys:
    length: float
    size_bytes: int = 0
    paged: bool = False


def attention_pairs(inputs: Tensors, outputs: Tensors) -> Pairs:
    """
    Return the pairs of an attention, whatever layout its operands have.

    Lengths of sequences stand in no shape: packed sequences count as equally long, and of the pages that a row of a
    block table can name a sequence reaches the root, and all of them at most the cache.
    """
    large = [t for t in inputs if len(t.shape) >= 2 and t.elements and t.dtype not in INDEX_DTYPES]
    rotary = _rotary_parts(large)
    large = [t for t in large if all(t is not part for part in rotary)]
    if len(large) < 2:
        return Pairs(0.0, 1, 1)
    query, key = large[0], large[1]
    table = next((t for t in inputs if t.dtype == "INT32" and len(t.shape) == 2 and t.elements > 1), None)
    side = _queries(query, key, table, (*inputs, *outputs))
    keys = _keys(query, key, side, table, latent=bool(rotary))
    pairs = float(side.sequences) * side.heads * side.length * keys.length
    values = [t for t in large[2:3] if t.shape[:-1] == key.shape[:-1]]
    if side.length > 1 and side.length == keys.length and _masked(large[2 + len(values) :], side.length):
        pairs *= (side.length + 1) / (2 * side.length)
    value = next((t.shape[-1] for t in values), key.shape[-1])
    narrower = side.width * value // key.shape[-1] if value < key.shape[-1] else side.width
    width = side.width + (_ROTARY_WIDTH if rotary else 0)
    cached = keys.paged or side.length < keys.length
    packed = side.sequence_dim is None and (side.sequences > 1 or len(query.shape) < 3)
    stated = not keys.paged and not packed
    heads = side.sequences * side.heads
    return Pairs(
        pairs,
        width,
        max(narrower, 1),
        keys.size_bytes,
        keys.paged,
        cached,
        stated,
        heads=heads,
        key_heads=_key_heads(key, side, keys, latent=bool(rotary)),
        queries=side.length,
        keys=keys.length,
    )


def _key_heads(key: TensorDesc, side: _Queries, keys: _Keys, *, latent: bool) -> int:
    """Return the heads of keys of all sequences; a latent cache has one head for all."""
    if latent:
        return side.sequences
    if keys.paged:  # it holds more tokens than the sequences reach
        tokens = key.shape[0] * next(size for size in key.shape[1:3] if size in _PAGE_SIZES)
    else:
        tokens = round(keys.length * side.sequences)
    each = key.elements // max(tokens * side.width, 1)
    return side.sequences * min(max(each, 1), side.heads)


def _rotary_parts(tensors: Tensors) -> list[TensorDesc]:
    """Return the rotated parts of queries and keys that stand beside a tensor of the same rows and another width."""
    return [
        part
        for part in tensors
        if part.shape[-1] == _ROTARY_WIDTH
        and len(part.shape) > 2
        and any(t.shape[:-1] == part.shape[:-1] and t.shape[-1] > HEAD_WIDTH for t in tensors)
    ]


def _masked(inputs: Tensors, queries: int) -> bool:
    """
    Whether a mask is there that lets kernels leave out pairs: of one type of byte, square, and one for all sequences.

    A mask with a dim for sequences and heads, [B, 1, S, S], is read and applied; nothing is left out for it.
    """
    return any(
        t.dtype in {"BOOL", "UINT8", "INT8"}
        and len(t.shape) == 2
        and t.shape[-1] == t.shape[-2]
        and t.shape[-1] in (queries, _COMPRESSED_MASK)
        for t in inputs
    )


def _queries(query: TensorDesc, key: TensorDesc, table: TensorDesc | None, tensors: Tensors) -> _Queries:
    shape = query.shape
    statistics = next((t.shape for t in tensors if len(t.shape) == 4 and t.shape[-1] == _STATISTICS_WIDTH), None)
    if statistics is not None and query.elements % math.prod(statistics[:3]) == 0:
        batch, heads, queries = statistics[:3]
        dim = 1 if len(shape) == 3 and shape[1] == batch and shape[0] == queries else 0
        return _Queries(heads, queries, batch, query.elements // (batch * heads * queries), dim)
    if len(shape) == 4:
        dim = _heads_dim(shape, key.shape)
        return _Queries(shape[dim], shape[3 - dim], shape[0], shape[3], 0)
    if len(shape) == 3 and (shape[2] <= _WIDEST_HEAD or (len(key.shape) == 4 and key.shape[3] == shape[2])):
        sequences = _packed_sequences(shape[0], table, tensors)
        return _Queries(shape[1], max(shape[0] // sequences, 1), sequences, shape[2])
    if len(shape) == 3:
        dim = _sequence_dim(shape, key.shape, table)
        return _Queries(max(shape[2] // HEAD_WIDTH, 1), shape[1 - dim], shape[dim], min(shape[2], HEAD_WIDTH), dim)
    return _Queries(max(shape[-1] // HEAD_WIDTH, 1), shape[0], 1, min(shape[-1], HEAD_WIDTH))


def _heads_dim(query: tuple[int, ...], key: tuple[int, ...]) -> int:
    """Return the dim of [B, N, S, D] or [B, S, N, D] that counts heads: several of a query share one of a key."""
    if len(key) == 4:
        fits = [query[dim] % key[dim] == 0 for dim in (1, 2)]
        if fits[0] != fits[1]:
            return 1 + fits.index(True)
    return 1 if query[1] <= query[2] or query[2] == 1 else 2


def _packed_sequences(tokens: int, table: TensorDesc | None, tensors: Tensors) -> int:
    """Return how many sequences packed tokens belong to: the rows of a table, or the entries of a list of lengths."""
    if table is not None and table.shape[0] <= tokens:
        return table.shape[0]
    lengths = (
        t.elements for t in tensors if t.dtype in INDEX_DTYPES and len(t.shape) == 1 and 0 < t.elements <= tokens
    )
    return next(lengths, 1)


def _sequence_dim(query: tuple[int, ...], key: tuple[int, ...], table: TensorDesc | None) -> int:
    """Return the dim of [B, S, H] or [S, B, H] that counts sequences: the one that queries and keys share."""
    if len(key) == 3:
        alike = [query[dim] == key[dim] for dim in (0, 1)]
        if alike[0] != alike[1]:
            return alike.index(True)
    if table is not None and (query[0] == table.shape[0]) != (query[1] == table.shape[0]):
        return int(query[1] == table.shape[0])
    return int(query[0] >= query[1])


def _keys(query: TensorDesc, key: TensorDesc, side: _Queries, table: TensorDesc | None, *, latent: bool) -> _Keys:
    """Return the keys of each sequence, and the bytes of keys and values that are read from a paged cache."""
    shape = key.shape
    if table is not None and len(shape) >= 3 and any(size in _PAGE_SIZES for size in shape[1:3]):
        page = next(size for size in shape[1:3] if size in _PAGE_SIZES)
        # No shape tells how long sequences are. One page is as likely as all that a row of the table can name, and any
        # order of magnitude between: the middle of that is the root.
        pages = min(max(round(table.shape[0] * math.sqrt(table.shape[1])), 1), shape[0])
        row = key.elements // (shape[0] * page) * DTYPES[key.dtype].size_bytes
        # A latent cache holds keys and values as one tensor, besides the rotated part of the key.
        stored = row + _ROTARY_WIDTH * DTYPES[key.dtype].size_bytes if latent else 2 * row
        return _Keys(pages * page / max(table.shape[0], 1), pages * page * stored, paged=True)
    if len(shape) == 4 and len(query.shape) == 4:
        square = query.shape[1] == query.shape[2]
        heads_dim = _heads_dim(query.shape, shape) if square else 1 + (query.shape[1] != side.heads)
        return _Keys(shape[3 - heads_dim] if shape[:3] != query.shape[:3] else side.length)
    if len(shape) == 4:
        return _Keys(max(shape[1:3]))
    if len(shape) == 3 and side.sequence_dim is None:
        return _Keys(max(shape[0] / max(side.sequences, 1), 1))
    if len(shape) == 3:
        return _Keys(shape[1 - (side.sequence_dim or 0)])
    return _Keys(shape[0])
