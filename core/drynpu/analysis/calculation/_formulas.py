"""
Operations of the cube units that follow from shapes alone.

A multiplication and an addition are two operations. Shapes come from the records: where they are padded to blocks
(NC1HWC0, FRACTAL_Z, FRACTAL_NZ), so is the count, which is what the device computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from attrs import frozen

_SPATIAL: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "NCHW": (0, 2, 3),
        "NHWC": (0, 1, 2),
        "NC1HWC0": (0, 2, 3),
        "NCDHW": (0, 2, 3, 4),
        "NDHWC": (0, 1, 2, 3),
        "NDC1HWC0": (0, 1, 3, 4),
    }
)
"""Axes of a feature map that are no channels."""
_MATRIX_DIMS = {"FRACTAL_NZ": 4}
"""Axes of one matrix, at the end of the shape; two in other formats."""
_SOFTMAX_LANES = 8
"""Length of the last axis of softmax_max and softmax_sum, which attention returns for its gradient."""


@frozen
class Call:
    """Shapes and formats of one kernel."""

    inputs: Sequence[tuple[int, ...]]
    outputs: Sequence[tuple[int, ...]]
    input_formats: Sequence[str]
    output_formats: Sequence[str]


def cube_operations(op_type: str, call: Call) -> int | None:
    """Return the operations of a kernel; ``None`` where no formula is known or its shapes do not tell."""
    formula = _FORMULAS.get(op_type)
    if formula is None:
        return None
    try:
        return formula(call)
    except (IndexError, ZeroDivisionError):
        return None


def _matmul(call: Call) -> int | None:
    """Return 2 * B * M * N * K; K follows from the numbers of elements, however the operands are transposed."""
    first, second, out = call.inputs[0], call.inputs[1], call.outputs[0]
    dims = _MATRIX_DIMS.get(call.input_formats[1], 2)
    batches = math.prod(second[:-dims]) if len(second) > dims else 1
    square = math.prod(first) * math.prod(second) / (math.prod(out) * batches)
    inner = math.isqrt(round(square))
    return 2 * math.prod(out) * inner if inner * inner == round(square) else None


def _convolution(call: Call) -> int | None:
    """Return 2 * (elements of the weights) * (places of the output)."""
    return _at_places(call.outputs[0], call.output_formats[0], call.inputs[1])


def _convolution_input(call: Call) -> int | None:
    """The same with the gradient of the output, which comes last, and the weights before it."""
    return _at_places(call.inputs[-1], call.input_formats[-1], call.inputs[-2])


def _convolution_filter(call: Call) -> int | None:
    """The same with the gradient of the weights, which is the output."""
    return _at_places(call.inputs[-1], call.input_formats[-1], call.outputs[0])


def _at_places(feature_map: tuple[int, ...], form: str, weights: tuple[int, ...]) -> int | None:
    axes = _SPATIAL.get(form)
    if axes is None:
        return None
    return 2 * math.prod(feature_map[axis] for axis in axes) * math.prod(weights)


def _attention(call: Call) -> int | None:
    """Return 4 * B * N * S * S_kv * D, two matrix products; what a mask leaves out is counted."""
    return _scores(call, call.outputs[0], products=2)


def _attention_gradient(call: Call) -> int | None:
    """Return 10 * B * N * S * S_kv * D, five matrix products."""
    softmax = next(shape for shape in call.inputs[3:] if len(shape) == 4 and shape[-1] == _SOFTMAX_LANES)
    return _scores(call, softmax, products=5)


def _scores(call: Call, softmax: tuple[int, ...], products: int) -> int | None:
    """Count the products of attention by the shape (B, N, S, 8) of its softmax sums."""
    if len(softmax) != 4 or softmax[-1] != _SOFTMAX_LANES:
        return None
    rows = math.prod(softmax[:3])
    width = math.prod(call.inputs[0]) // rows
    keys = math.prod(call.inputs[1]) // (softmax[0] * softmax[1] * width)
    return 2 * products * rows * keys * width


_FORMULAS: Mapping[str, Callable[[Call], int | None]] = MappingProxyType(
    {
        **dict.fromkeys(("MatMul", "MatMulV2", "MatMulV3", "Gemm", "GemmV2", "GemmV3"), _matmul),
        **dict.fromkeys(("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "BatchMatmulFixpipe"), _matmul),
        **dict.fromkeys(("Conv2D", "Conv3D", "Conv3DV2"), _convolution),
        **dict.fromkeys(("Conv2DBackpropInput", "Conv3DBackpropInput", "Conv3DBackpropInputV2"), _convolution_input),
        **dict.fromkeys(
            ("Conv2DBackpropFilter", "Conv3DBackpropFilter", "Conv3DBackpropFilterV2"), _convolution_filter
        ),
        **dict.fromkeys(("FlashAttentionScore",), _attention),
        **dict.fromkeys(("FlashAttentionScoreGrad",), _attention_gradient),
    }
)
