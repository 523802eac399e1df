"""Convolutions. HF32 is on for FP32, as it is by default."""

from __future__ import annotations

import math

from drynpu.kernels import (
    KernelPlan,
    NodeCall,
    Rule,
    TensorDesc,
    ceil_div,
    node_rule,
    output_tiles,
)
from drynpu_acl.kernels._elementwise import fused_operations, image_of
from drynpu_acl.kernels._work import is_image, plan

__all__ = ["cube_rules"]


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
        call.cube_kernel(
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
        "Conv": node_rule(_convolution),
        "ConvInteger": node_rule(_convolution),
        "ConvTranspose": node_rule(_convolution),
    }
