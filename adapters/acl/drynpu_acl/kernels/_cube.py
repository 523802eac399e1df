"""
Matrix products and convolutions.

MatMulV3 is taken from a thousand million multiply-adds on, MatMulV2 below (device_and_cost_model.md 3.5, 4.3). HF32 is
off for products and on for FP32 convolutions, as it is by default.
"""

from __future__ import annotations

import math

from drynpu.kernels import (
    KernelPlan,
    NodeCall,
    Rule,
    TensorDesc,
    broadcast_shape,
    ceil_div,
    node_cube_kernel,
    node_kernel,
    node_rule,
    output_tiles,
)
from drynpu_acl.kernels._elementwise import fused_operations, image_of
from drynpu_acl.kernels._work import is_image, plan

__all__ = ["cube_rules"]

_V3_FROM_MULTIPLY_ADDS = 10**9


def _product_type(multiply_adds: int) -> str:
    return "MatMulV3" if multiply_adds >= _V3_FROM_MULTIPLY_ADDS else "MatMulV2"


def _gemm(call: NodeCall) -> KernelPlan | None:
    """``Gemm(a, b, c)``: the bias is added by the same kernel."""
    a, b, out = call.tensor(0), call.tensor(1), call.output()
    if a is None or b is None or out is None or len(a.shape) != 2:
        return None
    rows, inner = a.shape[::-1] if call.whole("transA", 0) else a.shape
    columns = out.shape[-1]
    return plan(
        node_cube_kernel(
            call,
            _product_type(rows * inner * columns),
            call.tensors(),
            [out],
            flops=2 * rows * inner * columns,
            tiles=output_tiles(rows, columns),
            vector_ops=fused_operations(call, out),
        )
    )


def _matmul(call: NodeCall) -> KernelPlan | None:
    """``MatMul(a, b)``: numpy's product; vectors count as matrices with one row or one column."""
    a, b, out = call.tensor(0), call.tensor(1), call.output()
    if a is None or b is None or out is None or not a.shape or not b.shape:
        return None
    left = a.shape if len(a.shape) > 1 else (1, *a.shape)
    right = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    batch = broadcast_shape([left[:-2], right[:-2]])
    if batch is None:
        return None
    rows, inner, columns, count = left[-2], left[-1], right[-1], math.prod(batch)
    single = len(left) == len(right) == 2
    return plan(
        node_cube_kernel(
            call,
            _product_type(rows * inner * columns) if single else "BatchMatMulV2",
            call.tensors(),
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
    if out is None or len(terms) != len(inputs) or "." in call.text("equation"):
        return None
    if len(inputs) != 2:
        return plan(node_kernel(call, "Einsum", inputs, [out]))
    sizes = {
        label: dim for term, t in zip(terms, inputs, strict=True) for label, dim in zip(term, t.shape, strict=True)
    }
    rows = out.shape[-2] if len(out.shape) > 1 else 1
    columns = out.shape[-1] if out.shape else 1
    tiles = max(out.elements // max(rows * columns, 1), 1) * output_tiles(rows, columns)
    return plan(
        node_cube_kernel(call, "BatchMatMulV2", inputs, [out], flops=2 * math.prod(sizes.values()), tiles=tiles)
    )


def _fractal(weight: TensorDesc, *, depthwise: bool) -> TensorDesc:
    """Return a weight [N, C, KH, KW] as the cube unit wants it; it is stored so when the model is compiled."""
    n, c, kh, kw = weight.shape
    inside, outside = (1, n * c) if depthwise else (c, n)
    c0 = 8 if weight.dtype == "FLOAT" else 16
    return TensorDesc((ceil_div(inside, c0) * kh * kw, ceil_div(outside, 16), 16, c0), weight.dtype, "FRACTAL_Z")


def _as_image(tensor: TensorDesc) -> TensorDesc:
    """Return [N, C, W] as [N, C, 1, W]: convolutions of one dimension are computed as those of two."""
    n, c, *space = tensor.shape
    return TensorDesc((n, c, 1, *space), tensor.dtype, tensor.format) if len(space) == 1 else tensor


def _convolution(call: NodeCall) -> KernelPlan | None:
    x, weight, out = call.tensor(0), call.tensor(1), call.output()
    if x is None or weight is None or out is None or len(x.shape) < 3:
        return None
    group = call.whole("group", 1)
    depthwise = group > 1 and group == x.shape[1]
    transposed = call.signature.name == "ConvTranspose"
    # Each position of the side that the window walks over meets every weight of its group once.
    walked = x if transposed else out
    flops = 2 * (walked.elements // max(walked.shape[1], 1)) * weight.elements
    rows, columns = math.prod(out.shape[2:]), out.shape[1]
    x, weight, made = _as_image(x), _as_image(weight), _as_image(out)
    images = is_image(x) and is_image(weight)
    kind = (
        ("Conv2DTransposeD" if transposed else "Conv2D") if images else ("Conv3DTransposeD" if transposed else "Conv3D")
    )
    return plan(
        node_cube_kernel(
            call,
            "DepthwiseConv2D" if depthwise and images and not transposed else kind,
            [
                image_of(call, x),
                _fractal(weight, depthwise=depthwise) if images else weight,
                *call.tensors()[2:],
            ],
            [image_of(call, made)],
            flops=flops,
            tiles=out.shape[0] * output_tiles(rows, columns),
            vector_ops=fused_operations(call, out),
            hf32=x.dtype == "FLOAT",
        )
    )


def cube_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    return {
        "Gemm": node_rule(_gemm),
        "MatMul": node_rule(_matmul),
        "MatMulInteger": node_rule(_matmul),
        "Einsum": node_rule(_einsum),
        "Conv": node_rule(_convolution),
        "ConvInteger": node_rule(_convolution),
        "ConvTranspose": node_rule(_convolution),
    }
