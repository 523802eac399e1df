"""What the shapes of a kernel say about its work: the edges of products, the positions of images."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._types import TensorDesc

Tensors = Sequence[TensorDesc]


@frozen
class Edges:
    """
    A product of [batch, rows, inner] by [batch, inner, columns].

    With several ``groups`` each of them has its own part of the rows and a second operand of its own. A ``shared``
    second operand is the same for the whole batch: the images of a convolution.
    """

    batch: int
    rows: int
    inner: int
    columns: int
    groups: int = 1
    shared: bool = False

    @property
    def group_rows(self) -> int:
        """Rows of one group: routed tokens count as spread evenly."""
        return -(-self.rows // self.groups)


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
    ways: list[tuple[float, int, int, int]] = []
    for rows, inner in ((m, k), (k, m)):
        for other, columns in ((k_b, n), (n, k_b)):
            if _alike(inner, other):
                total = max(batch_a, 1) * rows * columns
                misfit = abs(math.log(total / results)) if results else 0.0
                misfit += 0.0 if _alike(columns, columns_out) or not results else 0.5
                ways.append((misfit, rows, inner, columns))
    if not ways:
        return _edges_by_size(operands, results, columns_out or n)
    _, rows, inner, columns = min(ways, key=lambda way: way[0])
    batch = max(batch_a, 1)
    if batch_b <= 1:
        # One matrix for all: the stack is as good as one tall matrix.
        return Edges(1, batch * rows, inner, columns)
    if batch_a <= 1:
        # Groups of rows, each with a matrix of its own: together they multiply every row once.
        if results <= 2 * rows * columns:
            return Edges(1, rows, inner, columns, groups=min(batch_b, rows))
        return Edges(batch_b, rows, inner, columns)
    return Edges(batch, rows, inner, columns)


def prolog_edges(inputs: Tensors) -> Edges | None:
    """
    Return the product that stands for the chain of MlaProlog: one row for each token, all weights side by side.

    The token comes first and its four weights (of the query down and up, of the latent key, of the key down) next, in
    the order of torch_npu.npu_mla_prolog's arguments.
    """
    if len(inputs) <= PROLOG_WEIGHTS or not inputs[0].elements:
        return None
    inner = inputs[0].shape[-1]
    weights = sum(t.elements for t in inputs[1 : 1 + PROLOG_WEIGHTS])
    return Edges(1, inputs[0].elements // inner, inner, max(weights // inner, 1))


PROLOG_WEIGHTS = 4


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
