"""
Matrix products.

MatMulV3 is taken from a thousand million multiply-adds and a tile of rows on, MatMulV2 below. That separates the
measured ND cases: V2 at [32,9216]x[9216,4096], [32,4096]x[4096,9216] and [1000,32]x[32,4096], V3 at [4096,32]x[32,9216]
and above.
HF32 is off for products, as it is by default, and the measured FP32 products show NO.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._rules import broadcast_shape
from drynpu.kernels._specs import output_tiles, tensor_like
from drynpu.kernels._types import KernelPlan, KernelSpec, TensorDesc

_V3_FROM_MULTIPLY_ADDS, _V3_FROM_ROWS = 10**9, 128
BATCHED = "BatchMatMulV2"
_TURNS = ((False, False), (False, True), (True, False), (True, True))


@frozen
class Sides:
    """The edges of a product: [*batch, rows, inner] by [*batch, inner, columns]."""

    rows: int
    inner: int
    columns: int
    batch: tuple[int, ...] = ()

    @property
    def kernel_type(self) -> str:
        """GE's type of the product."""
        if self.batch:
            return BATCHED
        large = self.rows * self.inner * self.columns >= _V3_FROM_MULTIPLY_ADDS
        return "MatMulV3" if large and min(self.rows, self.columns) >= _V3_FROM_ROWS else "MatMulV2"


def matrix_sides(call: OperatorCall) -> Sides | None:
    """
    Return the edges of the product of ``a`` and ``b``; ``None`` when the shapes do not fit.

    Where it is not known whether an operand is turned, the way must be the only one in which the shapes fit and give
    the result, unless the framework's calls are to be guessed.
    """
    a, b = call.tensor("a"), call.tensor("b")
    if a is None or b is None or min(len(a.shape), len(b.shape)) < 2:
        return None
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
    if batch is None:
        return None
    out = call.output()
    fitting: dict[Sides, None] = {}
    for turn_a, turn_b in _ways(call):
        rows, inner = a.shape[-2:][::-1] if turn_a else a.shape[-2:]
        other, columns = b.shape[-2:][::-1] if turn_b else b.shape[-2:]
        if inner == other and (out is None or call.guesses or out.shape[-2:] == (rows, columns)):
            fitting[Sides(rows, inner, columns, batch)] = None
    return next(iter(fitting)) if len(fitting) == 1 or (fitting and call.guesses) else None


def product_kernel(
    call: OperatorCall,
    sides: Sides,
    inputs: Sequence[TensorDesc],
    out: TensorDesc | None = None,
    *,
    kernel_type: str = "",
) -> KernelSpec:
    """Return the kernel of a product; tensors are ND whatever they mean to others."""
    out = out or TensorDesc((*sides.batch, sides.rows, sides.columns), inputs[0].dtype)
    count = math.prod(sides.batch)
    return call.cube_kernel(
        kernel_type or sides.kernel_type,
        [tensor_like(t, layout="ND") for t in inputs],
        [tensor_like(out, layout="ND")],
        flops=2 * count * sides.rows * sides.inner * sides.columns,
        tiles=count * output_tiles(sides.rows, sides.columns),
        vector_ops=call.fused_operations(out),
    )


def product(call: OperatorCall) -> KernelPlan | None:
    """``a b turn_a turn_b bias``: stacks of matrices, or two matrices; a bias is added by the same kernel."""
    return _product(call)


def stacked_product(call: OperatorCall) -> KernelPlan | None:
    """``a b turn_a turn_b``: as :func:`product`, by the kernel for stacks also where there is one matrix."""
    return _product(call, kernel_type=BATCHED)


def named_product(call: OperatorCall) -> KernelPlan | None:
    """``a b turn_a turn_b``: as :func:`product`, of all that the call has, by the kernel of the binding."""
    sides = matrix_sides(call)
    if sides is None:
        return None
    return call.plan(product_kernel(call, sides, call.tensors(), call.output(), kernel_type=call.binding.kernel))


def exchanged_product(call: OperatorCall) -> KernelPlan | None:
    """``a b``: a product whose rows come from all ranks, or go to them; the kernel of the binding exchanges them."""
    a, out = call.tensor("a"), call.output()
    if a is None or out is None or len(a.shape) != 2 or len(out.shape) != 2:
        return None
    rows, outputs = max(a.shape[0], out.shape[0]), [each for each in call.outputs if each.elements]
    flops, tiles = 2 * rows * a.shape[1] * out.shape[1], output_tiles(rows, out.shape[1])
    inputs = call.tensors("a", "b")
    return call.plan(call.cube_kernel(call.binding.kernel, inputs, outputs, flops=flops, tiles=tiles))


def turned_rows(call: OperatorCall) -> KernelPlan | None:
    """``a b``: rows of both, multiplied column by column and added to the result."""
    a, b = call.tensor("a"), call.tensor("b")
    if a is None or b is None or len(a.shape) != 2 or len(b.shape) != 2 or a.shape[0] != b.shape[0]:
        return None
    sides = Sides(a.shape[1], a.shape[0], b.shape[1])
    return call.plan(product_kernel(call, sides, call.tensors(), call.output(), kernel_type=call.binding.kernel))


def turned_product(call: OperatorCall) -> KernelPlan | None:
    """``a b``: stacks of matrices of which the first is turned before, and the result behind the product."""
    b, out = call.tensor("b"), call.output()
    if b is None or out is None or len(b.shape) < 2:
        return None
    inner, columns = b.shape[-2:] if b.shape[-1] == out.shape[-1] else b.shape[-2:][::-1]
    rows = out.elements // max(b.elements // max(inner, 1), 1)
    sides = Sides(rows, inner, columns, b.shape[:-2])
    return call.plan(product_kernel(call, sides, call.tensors(), out, kernel_type=call.binding.kernel))


def vector_product(call: OperatorCall) -> KernelPlan | None:
    """``a b``: numpy's product; a vector counts as a matrix with one row or one column."""
    a, b, out = call.tensor("a"), call.tensor("b"), call.output()
    if a is None or b is None or out is None or not a.shape or not b.shape:
        return None
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    batch = broadcast_shape([left[:-2], right[:-2]])
    if batch is None:
        return None
    sides = Sides(left[-2], left[-1], right[-1], batch)
    single = len(left) == len(right) == 2
    return call.plan(product_kernel(call, sides, call.tensors(), out, kernel_type="" if single else BATCHED))


def dense(call: OperatorCall) -> KernelPlan | None:
    """``x weight bias``: [..., k] by [n, k] turned, one product whatever the dims of *x*."""
    x, weight = call.tensor("x"), call.tensor("weight")
    if x is None or weight is None or not x.shape or len(weight.shape) != 2 or x.shape[-1] != weight.shape[1]:
        return None
    sides = Sides(math.prod(x.shape[:-1]), x.shape[-1], weight.shape[0])
    out = call.output() or TensorDesc((*x.shape[:-1], sides.columns), x.dtype)
    return call.plan(product_kernel(call, sides, call.tensors("x", "weight", "bias"), out))


def einsum(call: OperatorCall) -> KernelPlan | None:
    """``equation``: a batched product of two tensors, read off the equation; others are sums of one tensor."""
    inputs, out = call.tensors(), call.output()
    terms = call.text("equation").replace(" ", "").split("->")[0].split(",")
    if out is None or len(terms) != len(inputs):
        return None
    if len(inputs) != 2:
        return call.plan(call.kernel("Einsum", inputs, [out]))
    sizes = _label_sizes(terms, inputs)
    if sizes is None:
        return None
    rows = out.shape[-2] if len(out.shape) > 1 else 1
    columns = out.shape[-1] if out.shape else 1
    tiles = max(out.elements // max(rows * columns, 1), 1) * output_tiles(rows, columns)
    return call.plan(call.cube_kernel(BATCHED, inputs, [out], flops=2 * math.prod(sizes.values()), tiles=tiles))


def _product(call: OperatorCall, *, kernel_type: str = "") -> KernelPlan | None:
    sides = matrix_sides(call)
    if sides is None:
        return None
    inputs = [*call.tensors("a", "b", "bias"), *call.further(2)]
    return call.plan(product_kernel(call, sides, inputs, call.output(), kernel_type=kernel_type))


def _ways(call: OperatorCall) -> Sequence[tuple[bool, bool]]:
    if call.place("turn_a") < 0:
        return _TURNS[:1]
    known = call.known_flag("turn_a"), call.known_flag("turn_b")
    return [turn for turn in _TURNS if all(k in (None, t) for k, t in zip(known, turn, strict=True))]


def _label_sizes(terms: list[str], inputs: list[TensorDesc]) -> dict[str, int] | None:
    """Return the size of every label; dims under an ellipsis count by their distance from its end."""
    sizes: dict[str, int] = {}
    for term, tensor in zip(terms, inputs, strict=True):
        before, dots, after = term.partition("...")
        hidden = len(tensor.shape) - len(before) - len(after)
        if hidden < 0 or (hidden and not dots):
            return None
        labels = [*before, *(f".{hidden - i}" for i in range(hidden)), *after]
        for label, size in zip(labels, tensor.shape, strict=True):
            sizes[label] = max(sizes.get(label, 1), size)
    return sizes
