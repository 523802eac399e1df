"""
Operations of the cube units that follow from shapes alone, by families of kernels.

A multiplication and an addition are two operations. Shapes come from the records: where they are padded to blocks
(NC1HWC0, FRACTAL_Z, FRACTAL_NZ), so is the count, which is what the device computes. A formula belongs to a family of
names, so that each generation's spelling of a kernel has it (Conv2D, Conv2DV2, DepthwiseConv2D, FusionOp_Conv2D_ReLU).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

from attrs import frozen

from drynpu.kernels import TensorDesc, attention_pairs, family_of

Tensors = Sequence[TensorDesc]

_IMAGES = {
    "NCL": (3, (0, 2)),
    "NCHW": (4, (0, 2, 3)),
    "NHWC": (4, (0, 1, 2)),
    "NC1HWC0": (5, (0, 2, 3)),
    "NC1HWC0_C04": (5, (0, 2, 3)),
    "NCDHW": (5, (0, 2, 3, 4)),
    "NDHWC": (5, (0, 1, 2, 3)),
    "NDC1HWC0": (6, (0, 1, 3, 4)),
}
"""Number of the axes of a feature map, and those that are no channels."""
_WEIGHT_FORMAT = re.compile(r"FRAC(TAL_)?Z|C1HWNCoC0|D?HWCN", re.IGNORECASE)
_PROLOG_WEIGHTS = 4


@frozen
class Call:
    """The tensors of one kernel; an absent one has the shape ``()``."""

    inputs: Tensors
    outputs: Tensors


def cube_operations(op_type: str, call: Call) -> int | None:
    """Return the operations of a kernel; ``None`` where no formula is known or its shapes do not tell."""
    formula = formula_of(op_type)
    if formula is None:
        return None
    try:
        return formula(call)
    except (IndexError, ValueError, ZeroDivisionError):
        return None


def formula_of(op_type: str) -> Callable[[Call], int | None] | None:
    """Return the formula of a kernel type, by its family and by what is in its name."""
    name = op_type.replace("_", "").lower()
    rows = _FORMULAS.get(family_of(op_type).name, ())
    return next((formula for pattern, formula in rows if pattern.search(name)), None)


def _matmul(call: Call) -> int | None:
    """Return 2 * B * M * N * K, however the operands are turned; with padded operands of the padded edges."""
    first, second, out = call.inputs[0], call.inputs[1], call.outputs[0]
    if second.format.startswith("FRACTAL_Z") and len(second.shape) == 4:
        # A full connection: [k1, n1, n0, k0].
        return 2 * first.elements * second.shape[1] * second.shape[2]
    if min(len(first.shape), len(second.shape), len(out.shape)) < 2:
        return _by_size(first, second, out)
    (batch_a, *edges_a), (batch_b, *edges_b), (batch, *edges) = (_matrix(each) for each in (first, second, out))
    if math.prod(batch) not in {math.prod(batch_a), math.prod(batch_b), math.prod(batch_a) * math.prod(batch_b)}:
        return _by_size(first, second, out)
    counts = {
        math.prod(batch) * 2 * rows * inner * columns
        for rows, inner in (edges_a, edges_a[::-1])
        for other, columns in (edges_b, edges_b[::-1])
        if _alike(inner, other, first, second)
        and _alike(rows, edges[0], first, out)
        and _alike(columns, edges[1], second, out)
    }
    return counts.pop() if len(counts) == 1 else _by_size(first, second, out)


def _matrix(tensor: TensorDesc) -> tuple[tuple[int, ...], int, int]:
    """Return batch, rows and columns; FRACTAL_NZ is [..., n1, m1, m0, n0]."""
    shape = tensor.shape
    if tensor.format == "FRACTAL_NZ" and len(shape) >= 4:
        return shape[:-4], shape[-3] * shape[-2], shape[-4] * shape[-1]
    return shape[:-2], shape[-2], shape[-1]


def _alike(one: int, other: int, *tensors: TensorDesc) -> bool:
    """Return whether two edges are equal, but for the padding of a tensor in blocks."""
    if one == other:
        return True
    blocks = {tensor.shape[-1] for tensor in tensors if tensor.format == "FRACTAL_NZ"}
    return any(-(-one // block) == -(-other // block) for block in blocks)


def _by_size(first: TensorDesc, second: TensorDesc, out: TensorDesc) -> int | None:
    """Return the count where the axes stand in another order: K follows from the numbers of elements."""
    dims = 4 if second.format == "FRACTAL_NZ" else 2
    batches = math.prod(second.shape[:-dims]) if len(second.shape) > dims else 1
    square = first.elements * second.elements / (out.elements * batches)
    inner = math.isqrt(round(square))
    return 2 * out.elements * inner if inner and inner * inner == square else None


def _exchanged(call: Call) -> int | None:
    """Return the count of a product whose rows come from all ranks, or whose results go to them."""
    first, out = call.inputs[0], call.outputs[0]
    if len(first.shape) != 2 or len(out.shape) != 2:
        return None
    return 2 * max(first.shape[0], out.shape[0]) * first.shape[1] * out.shape[1]


def _grouped(call: Call) -> int | None:
    """Return 2 * (elements of the rows) * N: each row meets the matrix of one group."""
    first, out = call.inputs[0], call.outputs[0]
    results = [each for each in call.outputs if each.shape]
    if len(results) > 1 and all(len(each.shape) == 2 and each.shape[1] == out.shape[1] for each in results):
        return 2 * first.shape[-1] * sum(each.elements for each in results)
    if len(out.shape) > 2:
        # The gradient of the weights: a matrix for each group.
        return 2 * first.elements * out.shape[-1]
    _, rows, columns = _matrix(call.inputs[1])
    inner = first.shape[-1]
    if _alike(rows, inner, call.inputs[1]):
        return 2 * first.elements * columns
    return 2 * first.elements * rows if _alike(columns, inner, call.inputs[1]) else None


def _feed_forward(call: Call) -> int | None:
    """Return 2 * (rows) * (elements of the weights of one expert)."""
    rows = math.prod(call.inputs[0].shape[:-1])
    weights = [each for each in call.inputs[1:] if len(each.shape) >= 2 and each.elements > 1][:2]
    return 2 * rows * sum(math.prod(_matrix(each)[1:]) for each in weights) if len(weights) == 2 else None


def _prolog(call: Call) -> int | None:
    """Return 2 * (tokens) * (elements of the weights): one row for each token meets each of them."""
    weights = call.inputs[1 : 1 + _PROLOG_WEIGHTS]
    return 2 * math.prod(call.inputs[0].shape[:-1]) * sum(each.elements for each in weights)


def _lstm(call: Call) -> int | None:
    """Return 2 * (steps) * (batch) * (elements of the joined weights)."""
    return _recurrent(call, weights=1, passes=1)


def _lstm_gradient(call: Call) -> int | None:
    return _recurrent(call, weights=1, passes=2)


def _gru(call: Call) -> int | None:
    return _recurrent(call, weights=2, passes=1)


def _gru_gradient(call: Call) -> int | None:
    return _recurrent(call, weights=2, passes=2)


def _recurrent(call: Call, weights: int, passes: int) -> int | None:
    """Every weight meets every step of every sequence; once more for the gradient of the weights."""
    steps, matrices = call.inputs[0].shape, call.inputs[1 : 1 + weights]
    if len(steps) != 3 or any(len(each.shape) != 2 for each in matrices):
        return None
    return 2 * passes * steps[0] * steps[1] * sum(each.elements for each in matrices)


def _convolution(call: Call) -> int | None:
    """Return 2 * (elements of the weights) * (places of the output)."""
    weights = _weights(call.inputs) or _images(call.inputs)[1]
    return _at_places(_images(call.outputs)[0], weights)


def _convolution_input(call: Call) -> int | None:
    """The same with the gradient of the output, which is beside the weights; they come first in plain formats."""
    weights, images = _weights(call.inputs), _images(call.inputs)
    return _at_places(images[0], weights) if weights else _at_places(images[1], images[0])


def _convolution_transposed(call: Call) -> int | None:
    """The same with the image that comes in, which is before the weights."""
    images = _images(call.inputs)
    return _at_places(images[0], _weights(call.inputs) or images[1])


def _convolution_filter(call: Call) -> int | None:
    """The same with the gradient of the weights, which is an output; of two images the smaller one is the gradient."""
    weights = _weights(call.outputs) or call.outputs[0]
    return min(_at_places(image, weights) for image in _images(call.inputs)[:2])


def _images(tensors: Tensors) -> list[TensorDesc]:
    """Return the feature maps, and weights in the format of one."""
    return [each for each in tensors if len(each.shape) == _IMAGES.get(each.format, (0, ()))[0] > 0]


def _weights(tensors: Tensors) -> TensorDesc | None:
    """Return the weights by their format."""
    return next((each for each in tensors if _WEIGHT_FORMAT.match(each.format) and len(each.shape) > 2), None)


def _at_places(image: TensorDesc, weights: TensorDesc) -> int:
    return 2 * math.prod(image.shape[axis] for axis in _IMAGES[image.format][1]) * weights.elements


def _attention(call: Call) -> int | None:
    """Return 2 * (pairs of a query and a key) * (width of scores and values): two matrix products."""
    return _scores(call, scores=1, values=1)


def _attention_gradient(call: Call) -> int | None:
    """Return the same of five matrix products: scores again, the gradients of query, key, scores and value."""
    return _scores(call, scores=3, values=2)


def _scores(call: Call, scores: int, values: int) -> int | None:
    pairs = attention_pairs([t for t in call.inputs if t.shape], [t for t in call.outputs if t.shape])
    if not pairs.stated or not pairs.computed:
        return None
    return round(2 * pairs.computed * (scores * pairs.width + values * pairs.value_width))


_FORMULAS: Mapping[str, tuple[tuple[re.Pattern[str], Callable[[Call], int | None] | None], ...]] = {
    family: tuple((re.compile(pattern), formula) for pattern, formula in rows)
    for family, rows in {
        "matmul": (
            ("mlaprolog", _prolog),
            ("(rnn|lstm).*grad", _lstm_gradient),
            ("rnn|lstm", _lstm),
            ("gru.*grad", _gru_gradient),
            ("gru", _gru),
            ("ffn", _feed_forward),
            ("groupedmatmul|gmm", _grouped),
            ("allgather|reducescatter|alltoall", _exchanged),
            ("", _matmul),
        ),
        "conv": (
            ("im2col|deformable(offsets|attn)|multiscale", None),
            ("backpropfilter|dw$", _convolution_filter),
            ("backpropinput", _convolution_input),
            ("transpose|deconv", _convolution_transposed),
            ("", _convolution),
        ),
        "attention": (("update|sparse|nsa|indexer", None), ("grad", _attention_gradient), ("", _attention)),
    }.items()
}
"""
For each family the formulas by what is in the name, without underscores and in lower case.

A convolution that samples at offsets computes its products in another kernel. Attention that selects keys computes
products of those that no shape names.
"""
CUBE_FAMILIES = frozenset(_FORMULAS)
"""Families of kernels that work on the cube units."""
