"""
Operators that move elements: transposing, cutting, joining, gathering, padding.

Gathers and slices read only what they return, padding and tiling read their source once (device_and_cost_model.md 3.4).
Places and sizes that are constants of a graph are known to its compiler and not read by the kernel.
"""

from __future__ import annotations

from drynpu.kernels._call import NO_DATA, OperatorCall
from drynpu.kernels._types import KernelPlan, KernelSpec, TensorDesc


def move(call: OperatorCall) -> KernelPlan | None:
    """Read, of the first of the named tensors, just what is returned."""
    inputs = call.tensors(*call.binding.arguments)
    if not inputs or (call.output() is None and not call.outputs_optional):
        return None
    size = sum(t.size_bytes for t in call.outputs)
    return call.plan(call.kernel(call.binding.kernel, inputs, call.outputs, cost=0, read=size))


def gather(call: OperatorCall) -> KernelPlan | None:
    """``x index``: read the rows that are returned, and the index. Of a variable only the rows are known."""
    x, index, out = call.tensor("x"), call.tensor("index"), call.output()
    if index is None or ((x is None or out is None) and not call.outputs_optional):
        return None
    return call.plan(gather_kernel(call, call.tensors("x", "index"), index, [] if out is None else [out]))


def gather_points(call: OperatorCall) -> KernelPlan | None:
    """``x index``: places that the index names by all of their coordinates."""
    return None if call.tensor("x") is None or call.output() is None else gather(call)


def gather_kernel(
    call: OperatorCall, inputs: list[TensorDesc], index: TensorDesc, outputs: list[TensorDesc]
) -> KernelSpec:
    """Return the kernel of a gather, which reads what it returns and the *index*."""
    size = sum(t.size_bytes for t in (*outputs, index))
    return call.kernel(call.binding.kernel, inputs, outputs, cost=0, read=size)


def transpose(call: OperatorCall) -> KernelPlan | None:
    """``x order``: dims of length 1 move freely where the compiler knows the order."""
    x, out = call.tensor("x"), call.output()
    if x is None or (out is None and not call.outputs_optional):
        return None
    order = call.integers("order")
    if "order" in call.binding.arguments and len(order) == len(x.shape):
        moving = [axis for axis in order if x.shape[axis] != 1]
        if moving == sorted(moving):
            return call.plan()
    outputs = [] if out is None else [out]
    return call.plan(call.kernel(call.binding.kernel, [x], outputs, cost=0, written=x.size_bytes))


def grow(call: OperatorCall) -> KernelPlan | None:
    """``x``: a result larger than its source, which is read once: padding, tiling, broadcasting."""
    x, out = call.tensor("x"), call.output()
    if x is not None and out is not None and x.shape == out.shape and call.simplified:
        return call.plan()
    return place_in_zeros(call)


def place_in_zeros(call: OperatorCall) -> KernelPlan | None:
    """``x``: its elements at their places, zeros everywhere else; the gradient of a slice."""
    x, out = call.tensor("x"), call.output()
    if x is None or (out is None and not call.outputs_optional):
        return None
    return call.plan(call.kernel(call.binding.kernel, [x], [] if out is None else [out], cost=0))


def join(call: OperatorCall) -> KernelPlan | None:
    """``parts``, with ``axis`` before or behind them where that is a tensor, too: into one tensor."""
    inputs, arguments = list(call.signature.inputs), call.binding.arguments
    if inputs and "axis" in arguments:
        del inputs[0 if arguments[0] == "axis" else -1]
    listed = [t for value in inputs for t in (value if isinstance(value, tuple) else (value,))]
    parts = [t for t in listed if t is not None and t.dtype != NO_DATA]
    out = call.output()
    if out is None and not call.outputs_optional:
        return None
    if out is None and listed and all(t is not None and t.dtype == NO_DATA for t in listed):
        return call.plan()
    if out is None and (not parts or len(parts) < len(listed)):
        return None
    size = sum(t.size_bytes for t in parts) if out is None else out.size_bytes
    return call.plan(call.kernel(call.binding.kernel, parts, [] if out is None else [out], cost=0, written=size))


def cut(call: OperatorCall) -> KernelPlan | None:
    """``x``: into all of the results."""
    x = call.tensor("x")
    if x is None or not (call.outputs or call.outputs_optional):
        return None
    if len(call.outputs) == 1 and call.simplified:
        return call.plan()
    return call.plan(call.kernel(call.binding.kernel, [x], call.outputs, cost=0, written=x.size_bytes))


def cut_by_sizes(call: OperatorCall) -> KernelPlan | None:
    """``x``: by SplitD into equal parts, else by SplitVD."""
    kernel = "SplitD" if len({t.shape for t in call.outputs}) == 1 else "SplitVD"
    return cut(call.launching(kernel))


def one_hot(call: OperatorCall) -> KernelPlan | None:
    """``index depth on off``: in a graph the numbers are scalars of the kernel, else those that are tensors."""
    index, out = call.tensor("index"), call.output()
    if out is None or index is None:
        return None
    numbers = call.tensors("depth", "on", "off") if not call.simplified else [TensorDesc((), out.dtype)] * 2
    return call.plan(call.kernel(call.binding.kernel, [index, *numbers], [out], over=out.elements))
