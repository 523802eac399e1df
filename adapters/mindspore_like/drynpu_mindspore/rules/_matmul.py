"""
Matrix products.

MatMulV3 is taken from a thousand million multiply-adds on, MatMulV2 below; that separates the measured cases
(device_and_cost_model.md 3.5, 4.3). HF32 is off for products, as it is by default.
"""

from __future__ import annotations

import math

from drynpu.kernels import KernelPlan, Rule, TensorDesc, broadcast_shape, output_tiles, plan_of
from drynpu_mindspore.rules._signature import Call
from drynpu_mindspore.rules._work import cube_kernel, rule_of

__all__ = ["matmul_rules"]

_V3_FROM_MULTIPLY_ADDS = 10**9
_WAYS = ((False, False), (False, True), (True, False), (True, True))


def _sides(call: Call) -> tuple[TensorDesc, TensorDesc, int, int, int] | None:
    """
    Return (a, b, rows, inner, columns); ``None`` when the shapes do not fit.

    ``MatMul(a, b, transpose_a, transpose_b)``: where the two are not known, the way must be the only one in which the
    shapes fit and give the result.
    """
    a, b = call.tensor(0), call.tensor(1)
    if a is None or b is None or min(len(a.shape), len(b.shape)) < 2:
        return None
    turns = call.flag("transpose_a", 2), call.flag("transpose_b", 3)
    fitting = set()
    for turn_a, turn_b in _WAYS if None in turns else (turns,):
        rows, inner = a.shape[-2:][::-1] if turn_a else a.shape[-2:]
        other, columns = b.shape[-2:][::-1] if turn_b else b.shape[-2:]
        out = call.output()
        if inner == other and (out is None or out.shape[-2:] == (rows, columns)):
            fitting.add((rows, inner, columns))
    return (a, b, *fitting.pop()) if len(fitting) == 1 else None


def _matmul(call: Call) -> KernelPlan | None:
    sides = _sides(call)
    if sides is None or len(sides[0].shape) != 2:
        return None
    a, b, rows, inner, columns = sides
    op_type = "MatMulV3" if rows * inner * columns >= _V3_FROM_MULTIPLY_ADDS else "MatMulV2"
    out = call.output() or TensorDesc((rows, columns), a.dtype)
    flops = 2 * rows * inner * columns
    return plan_of(cube_kernel(op_type, [a, b], [out], flops=flops, tiles=output_tiles(rows, columns)))


def _batched(call: Call) -> KernelPlan | None:
    """Products of stacks of matrices; ``Dense`` and ``MatMulExt`` take vectors and matrices as well."""
    sides = _sides(call)
    batch = None if sides is None else broadcast_shape([sides[0].shape[:-2], sides[1].shape[:-2]])
    if sides is None or batch is None:
        return None
    a, b, rows, inner, columns = sides
    if not batch:
        return _matmul(call)
    count, out = math.prod(batch), call.output() or TensorDesc((*batch, rows, columns), a.dtype)
    tiles = count * output_tiles(rows, columns)
    return plan_of(cube_kernel("BatchMatMulV2", [a, b], [out], flops=2 * count * rows * inner * columns, tiles=tiles))


def _dense(call: Call) -> KernelPlan | None:
    """``Dense(x [..., k], w [n, k], bias)``: one product whatever the dims of x, the bias is added in it."""
    x, w = call.tensor(0), call.tensor(1)
    if x is None or w is None or not x.shape or len(w.shape) != 2 or x.shape[-1] != w.shape[1]:
        return None
    rows, (columns, inner) = math.prod(x.shape[:-1]), w.shape
    op_type = "MatMulV3" if rows * inner * columns >= _V3_FROM_MULTIPLY_ADDS else "MatMulV2"
    out = call.output() or TensorDesc((*x.shape[:-1], columns), x.dtype)
    flops = 2 * rows * inner * columns
    return plan_of(cube_kernel(op_type, call.tensors(), [out], flops=flops, tiles=output_tiles(rows, columns)))


def matmul_rules() -> dict[str, Rule]:
    """Return the rules by primitive."""
    return {
        "MatMul": rule_of(_matmul, "MatMulV2"),
        "MatMulExt": rule_of(_batched, "MatMulV2"),
        "Mm": rule_of(_matmul, "MatMulV2"),
        "BatchMatMul": rule_of(_batched, "BatchMatMulV2"),
        "BatchMatMulExt": rule_of(_batched, "BatchMatMulV2"),
        "Dense": rule_of(_dense, "MatMulV2"),
    }
