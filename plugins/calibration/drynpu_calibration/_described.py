"""
The work of a kernel that is known by its type and tensors only: a row of op_summary, or of a table to predict.

Everything that a rule knows from the call has to be found in the shapes: which operand of a product is turned, how long
the keys of an attention are, what a gather reads of its table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drynpu.kernels import (
    SOFTMAX_GRADIENT_OPS,
    SOFTMAX_OPS,
    KernelSpec,
    TaskType,
    TensorDesc,
    attention_pairs,
    family_of,
    image_positions,
    is_gradient,
    is_prolog,
    product_edges,
    prolog_edges,
)
from drynpu_calibration._moved_bytes import changed_in_place, listed_masks, moved_bytes

Tensors = Sequence[TensorDesc]

_CUBE_FAMILIES = frozenset({"matmul", "conv", "attention"})


def described_kernel(
    op_type: str,
    task_type: TaskType | None,
    inputs: Tensors,
    outputs: Tensors,
    *,
    hf32: bool = False,
    static: bool = False,
) -> KernelSpec:
    """
    Return the work of a kernel as its type and tensors tell it.

    Without *task_type* it is a cube kernel where the family works on the cube, else a vector kernel. *static* is the
    ``OP State`` of op_summary: compiled for its shapes.
    """
    family = family_of(op_type)
    task = task_type or (TaskType.AI_CORE if family.name in _CUBE_FAMILIES else TaskType.AI_VECTOR_CORE)
    inputs, outputs = tuple(inputs), tuple(outputs)
    if task in {TaskType.AI_CPU, TaskType.DSA, TaskType.MEMCPY} or family.name not in _CUBE_FAMILIES:
        flops = 0
    else:
        flops = _FLOPS[family.name](op_type, inputs, outputs)
    caches = changed_in_place(op_type, family.name, inputs, outputs)
    left_out = (*caches, *listed_masks(op_type, inputs))
    worked_on = [t for t in (*inputs, *outputs) if all(t != each for each in left_out)]
    elements = max((t.elements for t in worked_on), default=0)
    read, written = moved_bytes(op_type, family.name, inputs, outputs)
    operations = 0.0 if flops else family.operations * elements
    if family.name in {"gather", "scatter"}:
        operations = float(written)
    if family.name == "attention" and flops:
        pairs = attention_pairs(inputs, outputs)
        operations = (SOFTMAX_GRADIENT_OPS if is_gradient(op_type) else SOFTMAX_OPS) * pairs.computed
        read = min(read, sum(t.size_bytes for t in inputs[:1]) + pairs.key_bytes) if pairs.paged else read
    elif flops:
        operations = _behind_product(op_type, task, inputs, outputs)
    return KernelSpec(
        name=op_type,
        op_type=op_type,
        task_type=task,
        inputs=inputs,
        outputs=outputs,
        cube_flops=flops,
        vector_ops=round(operations),
        bytes_read=read,
        bytes_written=written,
        hf32=hf32,
        static=static,
    )


def _product_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    edges = prolog_edges(inputs) if is_prolog(op_type) else product_edges(inputs, outputs)
    return 0 if edges is None else 2 * edges.batch * edges.rows * edges.inner * edges.columns


def _behind_product(op_type: str, task: TaskType, inputs: Tensors, outputs: Tensors) -> float:
    """Return the element operations on the results of a product: what is fused behind it, or their dequantisation."""
    if "FusionOp" in op_type:
        return float(max((t.elements for t in outputs), default=0))
    if task is TaskType.MIX_AIC and inputs and inputs[0].dtype in _QUANTISED and not is_prolog(op_type):
        edges = product_edges(inputs, outputs)
        return 0.0 if edges is None else float(_DEQUANTISED * edges.batch * edges.rows * edges.columns)
    return 0.0


_QUANTISED = frozenset({"INT8", "UINT8"})
_DEQUANTISED = 4
"""A whole number becomes FLOAT, takes the scales of its row and its column, and becomes the type of the result."""


def _convolution_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    """
    Every position of the smaller image meets every weight once, in all three directions.

    What is fused behind a convolution may have results besides the image, such as sums of its channels.
    """
    tensors = [t for t in (*inputs, *outputs[:1]) if t.elements]
    images = [t for t in tensors if len(t.shape) >= 4 and t.format not in _WEIGHT_FORMATS and t.dtype not in _MASKS]
    weights = [t for t in tensors if t.format in _WEIGHT_FORMATS]
    if "filter" in op_type.lower() or "Dw" in op_type:
        weights = weights or list(outputs[:1])
    elif not weights and len(images) > 1:
        weights = [images.pop(1)]
    if not images or not weights:
        return 0
    # With strides, the gradient of an image has zeros put between the positions of what comes in, but where a weight
    # covers one position alone.
    positions = max if "BackpropInput" in op_type and _covers_several(weights[0], images[-1]) else min
    return 2 * positions(image_positions(t) for t in images) * weights[0].elements


def _covers_several(weight: TensorDesc, image: TensorDesc) -> bool:
    """Whether a weight covers more than one position; FRACTAL_Z is [C1 x height x width, ...]."""
    if weight.format in {"FRACTAL_Z", "FRACTAL_Z_3D"} and len(image.shape) == 5:
        return weight.shape[0] > image.shape[1]
    return len(weight.shape) > 3 and weight.shape[-1] * weight.shape[-2] > 1


_MASKS = frozenset({"UINT8", "BOOL"})
_WEIGHT_FORMATS = frozenset({"FRACTAL_Z", "FRACTAL_Z_3D", "FracZ", "C1HWNCoC0", "HWCN"})


def _attention_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    # Scores and the sum of values; backwards scores again, the gradients of query, key, scores and value.
    scores, values = (3, 2) if is_gradient(op_type) else (1, 1)
    pairs = attention_pairs(inputs, outputs)
    return round(2 * pairs.computed * (scores * pairs.width + values * pairs.value_width))


_FLOPS: dict[str, Callable[[str, Tensors, Tensors], int]] = {
    "matmul": _product_flops,
    "conv": _convolution_flops,
    "attention": _attention_flops,
}
