"""
The bytes that enter and leave the cores in a kernel that is known by its type and tensors only.

They differ from the bytes of its tensors: a gather reads the rows that it returns, a cache gets a few rows of what is
named twice, once among the inputs and once among the outputs (device_and_cost_model.md 3.4, "Byte counting traps").
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from drynpu.kernels import TensorDesc, is_prolog, product_edges

Tensors = Sequence[TensorDesc]

_STATES_OF_ADAM = 3
"""An optimizer without results in its row writes the variable and two moments back."""
_CACHE_RANK = 3
_MASKED_GRADIENT = "MaxPoolGradWithArgmaxV1"
_LISTED_MASK_RANK = 6


def changed_in_place(op_type: str, family: str, inputs: Tensors, outputs: Tensors) -> tuple[TensorDesc, ...]:
    """
    Return the tensors of which a kernel changes only the rows that an index names: caches, and what is scattered into.

    They are named as inputs and as outputs. A row of a cache kernel without outputs names them as its largest inputs.
    """
    if "cache" not in op_type.lower() and family != "scatter" and not is_prolog(op_type):
        return ()
    left, changed = list(inputs), []
    for output in outputs:
        if output in left and len(inputs) > 1 and output.elements:
            left.remove(output)
            changed.append(output)
    if family == "scatter" and "cache" not in op_type.lower():
        largest = max((t.size_bytes for t in inputs), default=0)
        return tuple(t for t in changed if t.size_bytes == largest)
    # A cache is larger than what comes into it; a result may look like any small input.
    changed = [t for t in changed if t.size_bytes > inputs[0].size_bytes]
    largest = max((t.size_bytes for t in inputs if len(t.shape) >= _CACHE_RANK), default=0)
    return tuple(changed) or tuple(t for t in inputs if t.size_bytes == largest and not outputs)


def listed_masks(op_type: str, inputs: Tensors) -> tuple[TensorDesc, ...]:
    """
    Return the masks of a pooling's gradient.

    They are listed with all channels in place of blocks of channels, and with the places of the window twice: as many
    bytes would take longer than the kernel does.
    """
    return tuple(t for t in inputs if op_type == _MASKED_GRADIENT and len(t.shape) == _LISTED_MASK_RANK)


def moved_bytes(op_type: str, family: str, inputs: Tensors, outputs: Tensors) -> tuple[int, int]:
    """Return the bytes that enter and leave the cores."""
    read, written = _total(inputs), _total(outputs)
    caches = changed_in_place(op_type, family, inputs, outputs)
    if caches or family == "scatter":
        # Only the rows that an index names are read, changed and written; clearing the rest is a kernel of its own.
        values, results = read - _total(caches), written - _total(caches if outputs else ())
        if is_prolog(op_type):
            return values, results + _total(inputs[:1])
        return values, results + min(_total(caches), values) if caches else min(written or values, values)
    for mask in listed_masks(op_type, inputs):
        return read - mask.size_bytes + mask.size_bytes // max(mask.shape[2] * mask.shape[-1], 1), written
    if family == "matmul":
        return read - _unread_groups(inputs, outputs), written
    if family in {"gather", "copy"}:
        return _picked(op_type, family, inputs, outputs)
    if family == "fill":
        # What is cleared in place is named among the inputs; the shape to fill is no data. Of what is made before a sum
        # over its channels or columns (images, stacks of matrices) only these sums are cleared.
        if op_type == "AtomicAddrClean" and inputs and _is_summed(inputs[0]):
            return 0, _sums_bytes(inputs[0])
        return 0, written or read
    if family == "optimizer":
        kept = sorted((t.size_bytes for t in inputs), reverse=True)
        return read, written if written >= max(kept, default=0) else sum(kept[:_STATES_OF_ADAM])
    if (
        not written
        and family in {"elementwise", "norm", "softmax", "layout", "rotary"}
        and math.prod(inputs[0].shape if inputs else (0,)) > 1
    ):
        return read, inputs[0].size_bytes
    return read, written


def _total(tensors: Tensors) -> int:
    return sum(t.size_bytes for t in tensors)


def _unread_groups(inputs: Tensors, outputs: Tensors) -> int:
    """Return the bytes of second operands that have no row: of 64 experts, 8 tokens reach 8 at most."""
    edges = product_edges(inputs, outputs)
    if edges is None or edges.batch > 1:
        return 0
    weights = [t for t in inputs if t.elements > 1 and len(t.shape) >= 2][1:2]
    stack = math.prod(weights[0].shape[: -4 if weights[0].format == "FRACTAL_NZ" else -2]) if weights else 1
    return weights[0].size_bytes * (stack - edges.groups) // stack if stack > edges.groups else 0


def _picked(op_type: str, family: str, inputs: Tensors, outputs: Tensors) -> tuple[int, int]:
    """Return the bytes of kernels that return a part of what they are given, or put it elsewhere."""
    read, written = _total(inputs), _total(outputs)
    largest = max((t.size_bytes for t in inputs), default=0)
    if op_type == "ViewCopy" and written:
        # The target comes first, then its view, then the source: nothing of the target is read.
        moved = min(largest, read - written)
        return (moved, moved) if moved > 0 else (read, written)
    if op_type == "Assign":  # the variable and its new value, of which the value alone is read
        return written or read // 2, written or read // 2
    if family == "gather" or op_type.lower().startswith(("slice", "strided", "split", "as")):
        # Of the table only what is returned, and the index.
        return (written + read - largest if written and read > written else read), written
    return read, written or read


def _is_summed(tensor: TensorDesc) -> bool:
    """Whether a tensor that is cleared stands for the sums beside it; matrices are gradients and cleared whole."""
    return tensor.format.startswith("NC1HWC0") or (tensor.format == "ND" and len(tensor.shape) > 2)


def _sums_bytes(tensor: TensorDesc) -> int:
    shape = tensor.shape
    columns = shape[1] * shape[4] if len(shape) == 5 else shape[-1] if len(shape) > 1 else tensor.elements
    return min(2 * 4 * columns, tensor.size_bytes)
