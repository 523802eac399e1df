"""What the shapes of a kernel say about its work: the edges of products, the pairs of an attention, images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._types import DTYPES, TensorDesc

Tensors = Sequence[TensorDesc]

_BLOCKED_MATRICES = frozenset({"FRACTAL_NZ", "FRACTAL_Z"})
_STATISTICS_WIDTH = 8
_PAGE_SIZES = frozenset({16, 32, 64, 128, 256, 512})
_COMPRESSED_MASK = 2048


@frozen
class Edges:
    """A product of [batch, rows, inner] by [batch, inner, columns]."""

    batch: int
    rows: int
    inner: int
    columns: int


@frozen
class Pairs:
    """
    Pairs of a query and a key, over batch and heads.

    ``computed`` leaves out those that a causal mask leaves out; ``key_bytes`` are those of keys and values in a
    ``paged`` cache that the lengths reach.
    """

    computed: float
    width: int
    key_bytes: int = 0
    paged: bool = False


def matrix_shape(tensor: TensorDesc) -> tuple[int, int, int]:
    """Return batch, rows and columns of a matrix in any format; FRACTAL_NZ is [..., n1, m1, m0, n0], padded."""
    shape = tensor.shape
    if tensor.format == "FRACTAL_NZ" and len(shape) >= 4:
        return math.prod(shape[:-4]), shape[-3] * shape[-2], shape[-4] * shape[-1]
    if tensor.format == "FRACTAL_Z" and len(shape) == 4:
        return 1, shape[0] * shape[3], shape[1] * shape[2]
    if len(shape) >= 2:
        return math.prod(shape[:-2]), shape[-2], shape[-1]
    return 1, 1, tensor.elements


def product_edges(inputs: Tensors, outputs: Tensors) -> Edges | None:
    """Return the edges of a matrix product, the operands turned in the way that fits; ``None`` without operands."""
    operands = [t for t in inputs if t.elements > 1 and len(t.shape) >= 2][:2] or [t for t in inputs if t.elements][:2]
    if len(operands) < 2 or not operands[0].elements or not operands[1].elements:
        return None
    (batch_a, m, k), (batch_b, k_b, n) = (matrix_shape(t) for t in operands)
    out = next((t for t in outputs if t.elements), None)
    results = out.elements if out is not None else 0
    columns_out = matrix_shape(out)[2] if out is not None else 0
    if operands[1].format == "FRACTAL_Z" and results:
        # A full connection takes whatever the first operand holds as rows of the weight's inner edge.
        return Edges(1, max(results // n, 1), k_b, n)
    found: list[tuple[float, int, int, int]] = []
    for rows, inner in ((m, k), (k, m)):
        for other, columns in ((k_b, n), (n, k_b)):
            if _alike(inner, other):
                total = max(batch_a, 1) * rows * columns
                misfit = abs(math.log(total / results)) if results else 0.0
                misfit += 0.0 if _alike(columns, columns_out) or not results else 0.5
                found.append((misfit, rows, inner, columns))
    if not found:
        return _edges_by_size(operands, results, columns_out or n)
    _, rows, inner, columns = min(found, key=lambda way: way[0])
    batch = max(batch_a, 1)
    if batch_b <= 1:
        # One matrix for all: the stack is as good as one tall matrix.
        return Edges(1, batch * rows, inner, columns)
    if batch_a <= 1:
        # Groups of rows, each with a matrix of its own: together they multiply every row once.
        return Edges(1, rows, inner, columns) if results <= 2 * rows * columns else Edges(batch_b, rows, inner, columns)
    return Edges(batch, rows, inner, columns)


def _alike(one: int, other: int) -> bool:
    """Whether two edges are equal but for padding to whole blocks."""
    return one == other or (min(one, other) > 0 and -(-one // 16) == -(-other // 16))


def _edges_by_size(operands: Tensors, results: int, columns: int) -> Edges | None:
    """Return the edges that the numbers of elements allow: a * b / result is the inner edge squared."""
    a, b = operands
    if not results or not columns:
        inner = max(a.shape[-1], 1)
        return Edges(1, max(a.elements // inner, 1), inner, max(b.elements // inner, 1))
    inner = max(round(math.sqrt(a.elements * b.elements / results)), 1)
    return Edges(1, max(results // columns, 1), inner, columns)


def image_positions(tensor: TensorDesc) -> int:
    """Return batch x height x width (x depth) of an image."""
    shape = tensor.shape
    if tensor.format.startswith("NDC1HWC0") and len(shape) == 6:
        return math.prod((shape[0], shape[1], *shape[3:5]))
    if tensor.format.startswith("NC1HWC0") and len(shape) == 5:
        return math.prod((shape[0], *shape[2:4]))
    if tensor.format == "NHWC":
        return math.prod(shape[:-1])
    return math.prod((*shape[:1], *shape[2:]))


def attention_pairs(inputs: Tensors, outputs: Tensors) -> Pairs:
    """
    Return the pairs of an attention, whatever layout its operands have.

    Lengths per sequence stand in no shape: packed sequences count as equally long, and a paged cache as full.
    """
    large = [t for t in inputs if len(t.shape) >= 2 and t.elements]
    if len(large) < 2:
        return Pairs(0.0, 1)
    query, key = large[0], large[1]
    heads, queries, batch, width = _query_edges(query, key, (*inputs, *outputs))
    keys, key_bytes, paged = _key_length(query, key, batch, inputs)
    pairs = float(batch) * heads * queries * keys
    if queries > 1 and queries == keys and _masked(inputs, queries):
        pairs *= (queries + 1) / (2 * queries)
    return Pairs(pairs, width, key_bytes, paged)


def _masked(inputs: Tensors, queries: int) -> bool:
    """Whether a mask is there that can be causal: of one type of byte, square."""
    return any(
        t.dtype in {"BOOL", "UINT8", "INT8"}
        and len(t.shape) >= 2
        and t.shape[-1] == t.shape[-2]
        and t.shape[-1] in (queries, _COMPRESSED_MASK)
        for t in inputs
    )


def _query_edges(query: TensorDesc, key: TensorDesc, tensors: Tensors) -> tuple[int, int, int, int]:
    """Return heads, queries per sequence, sequences and the width of a head."""
    shape = query.shape
    statistics = next((t.shape for t in tensors if len(t.shape) == 4 and t.shape[-1] == _STATISTICS_WIDTH), None)
    if statistics is not None and query.elements % math.prod(statistics[:3]) == 0:
        batch, heads, queries = statistics[:3]
        return heads, queries, batch, query.elements // (batch * heads * queries)
    if len(shape) == 4:
        # [B, N, S, D] or [B, S, N, D]: heads are the smaller.
        heads, queries = (shape[1], shape[2]) if shape[1] <= shape[2] or shape[2] == 1 else (shape[2], shape[1])
        return heads, queries, shape[0], shape[3]
    if len(shape) == 3:
        lengths = next((t.shape[0] for t in tensors if t.dtype == "INT64" and len(t.shape) == 1 and t.elements), 0)
        if lengths and shape[2] <= 256:
            return shape[1], max(shape[0] // lengths, 1), lengths, shape[2]
        if shape[2] <= 256 and len(key.shape) == 3 and key.shape[2] == shape[2]:
            return shape[1], shape[0], 1, shape[2]
        batch, queries = (shape[1], shape[0]) if shape[0] >= shape[1] else (shape[0], shape[1])
        return max(shape[2] // 128, 1), queries, batch, min(shape[2], 128)
    return max(shape[-1] // 128, 1), shape[0], 1, min(shape[-1], 128)


def _key_length(query: TensorDesc, key: TensorDesc, batch: int, inputs: Tensors) -> tuple[float, int, bool]:
    """Return the keys per sequence, the bytes of keys and values that are read, and whether the cache is paged."""
    shape = key.shape
    table = next(
        (t for t in inputs if t.dtype == "INT32" and len(t.shape) == 2 and t.shape[0] <= max(batch, query.shape[0])),
        None,
    )
    if table is not None and len(shape) >= 3 and any(size in _PAGE_SIZES for size in shape[1:3]):
        page = next(size for size in shape[1:3] if size in _PAGE_SIZES)
        pages = min(table.shape[1] * table.shape[0], shape[0])
        row = key.elements // (shape[0] * page) * DTYPES[key.dtype].size_bytes
        return pages * page / max(table.shape[0], 1), 2 * pages * page * row, True
    if len(shape) == 4:
        alike = len(query.shape) == 4 and query.shape[3] == shape[3]
        heads_first = not alike or (query.shape[1] >= shape[1] and shape[1] <= shape[2])
        keys = shape[2] if heads_first else shape[1]
        return keys, 2 * key.size_bytes, False
    if len(shape) == 3:
        if shape[2] <= 256 and len(query.shape) == 3 and query.shape[2] == shape[2]:
            return max(shape[0] / max(batch, 1), 1), 2 * key.size_bytes, False
        return (shape[0] if shape[1] == batch else shape[1]), 2 * key.size_bytes, False
    return shape[0], 2 * key.size_bytes, False
