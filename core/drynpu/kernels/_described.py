"""
The work of a kernel that is known by its type and tensors only: a row of op_summary, or of a table to predict.

Everything that a rule knows from the call has to be found in the shapes: which operand of a product is turned, how long
the keys of an attention are, what a gather reads of its table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from drynpu.kernels._families import family_of
from drynpu.kernels._shapes_of_work import attention_pairs, image_positions, product_edges
from drynpu.kernels._types import KernelSpec, TaskType, TensorDesc

Tensors = Sequence[TensorDesc]

_CUBE_FAMILIES = frozenset({"matmul", "conv", "attention"})
_SOFTMAX_OPS, _SOFTMAX_GRADIENT_OPS = 4, 8
_STATES_OF_ADAM = 3
"""An optimizer without results in its row writes the variable and two moments back."""


def described_kernel(
    op_type: str, task_type: TaskType | None, inputs: Tensors, outputs: Tensors, *, hf32: bool = False
) -> KernelSpec:
    """
    Return the work of a kernel as its type and tensors tell it.

    Without *task_type* it is a cube kernel where the family works on the cube, else a vector kernel.
    """
    family = family_of(op_type)
    task = task_type or (TaskType.AI_CORE if family.name in _CUBE_FAMILIES else TaskType.AI_VECTOR_CORE)
    inputs, outputs = tuple(inputs), tuple(outputs)
    if task in {TaskType.AI_CPU, TaskType.DSA, TaskType.MEMCPY} or family.name not in _CUBE_FAMILIES:
        flops = 0
    else:
        flops = _FLOPS[family.name](op_type, inputs, outputs)
    elements = max((t.elements for t in (*inputs, *outputs)), default=0)
    read, written = _moved(op_type, family.name, inputs, outputs)
    operations = 0.0 if flops else family.operations * elements
    if family.name in {"gather", "scatter"}:
        operations = float(written)
    if family.name == "attention" and flops:
        pairs = attention_pairs(inputs, outputs)
        gradient = "grad" in op_type.lower()
        operations = (_SOFTMAX_GRADIENT_OPS if gradient else _SOFTMAX_OPS) * pairs.computed
        read = min(read, sum(t.size_bytes for t in inputs[:1]) + pairs.key_bytes) if pairs.paged else read
    elif flops:
        operations = float(max((t.elements for t in outputs), default=0)) if "FusionOp" in op_type else 0.0
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
    )


def _product_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    del op_type
    edges = product_edges(inputs, outputs)
    return 0 if edges is None else 2 * edges.batch * edges.rows * edges.inner * edges.columns


def _convolution_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    """Every position of the smaller image meets every weight once, in all three directions."""
    tensors = [t for t in (*inputs, *outputs) if t.elements]
    images = [t for t in tensors if len(t.shape) >= 4 and t.format not in _WEIGHT_FORMATS]
    weights = [t for t in tensors if t.format in _WEIGHT_FORMATS]
    if "filter" in op_type.lower() or "Dw" in op_type:
        weights = weights or list(outputs[:1])
    elif not weights and len(images) > 1:
        weights = [images.pop(1)]
    if not images or not weights:
        return 0
    return 2 * min(image_positions(t) for t in images) * weights[0].elements


_WEIGHT_FORMATS = frozenset({"FRACTAL_Z", "FRACTAL_Z_3D", "FracZ", "C1HWNCoC0", "HWCN"})


def _attention_flops(op_type: str, inputs: Tensors, outputs: Tensors) -> int:
    products = 5 if "grad" in op_type.lower() else 2
    pairs = attention_pairs(inputs, outputs)
    return round(2 * products * pairs.computed * pairs.width)


_FLOPS: dict[str, Callable[[str, Tensors, Tensors], int]] = {
    "matmul": _product_flops,
    "conv": _convolution_flops,
    "attention": _attention_flops,
}


def _sums_bytes(tensor: TensorDesc) -> int:
    shape = tensor.shape
    columns = shape[1] * shape[4] if len(shape) == 5 else shape[-1] if len(shape) > 1 else tensor.elements
    return min(2 * 4 * columns, tensor.size_bytes)


def _moved(op_type: str, family: str, inputs: Tensors, outputs: Tensors) -> tuple[int, int]:
    """Return the bytes that enter and leave the cores (device_and_cost_model.md 3.4, "Byte counting traps")."""
    given, written = sum(t.size_bytes for t in inputs), sum(t.size_bytes for t in outputs)
    largest = max((t.size_bytes for t in inputs), default=0)
    if family == "fill":
        # What is cleared in place is named among the inputs; the shape to fill is no data. Of an image only the sums
        # over its channels are cleared, of a matrix those of its columns.
        if op_type == "AtomicAddrClean" and inputs and inputs[0].format != "FRACTAL_Z":
            return 0, _sums_bytes(inputs[0])
        return 0, written or given
    if family == "gather" or (family == "copy" and op_type.lower().startswith(("slice", "strided", "split", "as"))):
        # Of the table only what is returned, and the index.
        return (written + given - largest if written and given > written else given), written
    if family == "scatter":
        # Only the rows that an index names are read, changed and written; clearing the rest is a kernel of its own.
        values = given - largest if written == largest and len(inputs) > 1 else given
        return values, min(written or values, values)
    if family == "optimizer":
        kept = sorted((t.size_bytes for t in inputs), reverse=True)[:_STATES_OF_ADAM]
        return given, written if written >= largest else sum(kept)
    if family == "copy" and op_type == "Assign":
        return written or given // 2, written or given // 2
    if family == "copy" and not written:
        return given, given
    if (
        not written
        and family in {"elementwise", "norm", "softmax", "layout", "rotary"}
        and math.prod(inputs[0].shape if inputs else (0,)) > 1
    ):
        return given, inputs[0].size_bytes
    return given, written
