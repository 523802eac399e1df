"""
Matrix products.

MatMulV3 is taken from a thousand million multiply-adds on, MatMulV2 below; that separates the measured cases
(device_and_cost_model.md 3.5, 4.3). HF32 is off for products, as it is by default.
"""

from __future__ import annotations

import math

from drynpu.kernels import (
    KernelPlan,
    NodeCall,
    Rule,
    TensorDesc,
    broadcast_shape,
    node_cube_kernel,
    node_kernel,
    node_rule,
    output_tiles,
    plan_of,
)
from drynpu_tf.rules._elementwise import fused_operations

__all__ = ["matmul_rules"]

_V3_FROM_MULTIPLY_ADDS = 10**9
_TURNS = ((False, False), (False, True), (True, False), (True, True))


def _sides(call: NodeCall, left: str, right: str) -> tuple[TensorDesc, TensorDesc, int, int, int] | None:
    """
    Return (a, b, rows, inner, columns); ``None`` when the shapes do not fit.

    Where the attributes are not known (bodies of loops in a trace) the first way is taken in which they do.
    """
    a, b = call.tensor(0), call.tensor(1)
    if a is None or b is None or min(len(a.shape), len(b.shape)) < 2:
        return None
    told = bool(call.attrs.keys() & {left, right})
    for turn_a, turn_b in [(call.flag(left), call.flag(right))] if told else _TURNS:
        rows, inner = a.shape[-2:][::-1] if turn_a else a.shape[-2:]
        other, columns = b.shape[-2:][::-1] if turn_b else b.shape[-2:]
        if inner == other:
            return a, b, rows, inner, columns
    return None


def _matmul(call: NodeCall) -> KernelPlan | None:
    sides = _sides(call, "transpose_a", "transpose_b")
    if sides is None:
        return None
    a, b, rows, inner, columns = sides
    op_type = "MatMulV3" if rows * inner * columns >= _V3_FROM_MULTIPLY_ADDS else "MatMulV2"
    out = call.output() or TensorDesc((rows, columns), a.dtype)
    return plan_of(
        node_cube_kernel(
            call,
            op_type,
            [a, b, *call.tensors()[2:]],
            [out],
            flops=2 * rows * inner * columns,
            tiles=output_tiles(rows, columns),
            vector_ops=fused_operations(call, out),
        )
    )


def _batch_matmul(call: NodeCall) -> KernelPlan | None:
    sides = _sides(call, "adj_x", "adj_y")
    if sides is None:
        return None
    a, b, rows, inner, columns = sides
    batch = broadcast_shape([a.shape[:-2], b.shape[:-2]])
    if batch is None:
        return None
    out = call.output() or TensorDesc((*batch, rows, columns), a.dtype)
    count = math.prod(batch)
    return plan_of(
        node_cube_kernel(
            call,
            "BatchMatMulV2",
            [a, b, *call.tensors()[2:]],
            [out],
            flops=2 * count * rows * inner * columns,
            tiles=count * output_tiles(rows, columns),
            vector_ops=fused_operations(call, out),
        )
    )


def _einsum(call: NodeCall) -> KernelPlan | None:
    """Return a batched product of two tensors, read off the equation; others are sums of one tensor."""
    inputs, out = call.tensors(), call.output()
    terms = call.text("equation").replace(" ", "").split("->")[0].split(",")
    if out is None or len(terms) != len(inputs):
        return None
    if len(inputs) != 2:
        return plan_of(node_kernel(call, "Einsum", inputs, [out]))
    sizes = _label_sizes(terms, inputs)
    if sizes is None:
        return None
    every = math.prod(sizes.values())
    rows = out.shape[-2] if len(out.shape) > 1 else 1
    columns = out.shape[-1] if out.shape else 1
    tiles = max(out.elements // max(rows * columns, 1), 1) * output_tiles(rows, columns)
    return plan_of(node_cube_kernel(call, "BatchMatMulV2", inputs, [out], flops=2 * every, tiles=tiles))


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


def matmul_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "MatMul": node_rule(_matmul),
        "_FusedMatMul": node_rule(_matmul),
        "_FusedBatchMatMulV2": node_rule(_batch_matmul),
        "BatchMatMul": node_rule(_batch_matmul),
        "BatchMatMulV2": node_rule(_batch_matmul),
        "BatchMatMulV3": node_rule(_batch_matmul),
        "Einsum": node_rule(_einsum),
    }
