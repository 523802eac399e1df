"""
Operators that change some places of a tensor, or add into them.

They write only what they change (device_and_cost_model.md 3.4); what is added to is read before.
"""

from __future__ import annotations

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._types import KernelPlan, TensorDesc
from drynpu.kernels.ops.creation import clear_kernel


def scatter(call: OperatorCall) -> KernelPlan | None:
    """``x index updates``: places of ``x`` are read, changed and written. Of a variable they alone are known."""
    return _scatter(call)


def scatter_copy(call: OperatorCall) -> KernelPlan | None:
    """``x index updates``: a copy of ``x`` is made, whose places are read, changed and written."""
    x = call.tensor("x")
    return _scatter(call, copied=0 if x is None else x.size_bytes)


def scatter_result(call: OperatorCall) -> KernelPlan | None:
    """``x index updates``: one kernel makes the copy with the changed places."""
    x, index, updates = (call.tensor(name) for name in ("x", "index", "updates"))
    if x is None or index is None or updates is None:
        return None
    return call.plan(call.kernel(call.binding.kernel, [x, index, updates], [x], over=updates.elements))


def add_up(call: OperatorCall) -> KernelPlan | None:
    """``updates index``: the kernel clears its result and adds into it; its inputs stand in the order of the call."""
    updates, index, out = call.tensor("updates"), call.tensor("index"), call.output()
    if updates is None or index is None or out is None:
        return None
    inputs = call.tensors(*call.binding.arguments)
    return call.plan(call.kernel(call.binding.kernel, inputs, [out], over=updates.elements))


def clear_and_add_up(call: OperatorCall) -> KernelPlan | None:
    """``updates index``: one kernel clears the result, another one adds into it."""
    updates, index, out = call.tensor("updates"), call.tensor("index"), call.output()
    if updates is None or index is None or out is None:
        return None
    inputs: list[TensorDesc] = [updates, index]
    if call.binding.kernel == "ScatterElements":
        inputs = [out, index, updates]
    read = 2 * updates.size_bytes + index.size_bytes
    over, written = updates.elements, updates.size_bytes
    clear = clear_kernel(call, [out])
    return call.plan(clear, call.kernel(call.binding.kernel, inputs, [out], over=over, read=read, written=written))


def place_values(call: OperatorCall) -> KernelPlan | None:
    """``x`` and whatever says places and values: of ``x`` only the places are written."""
    x = call.tensor("x")
    if x is None:
        return None
    inputs = call.tensors()
    size = sum(t.size_bytes for t in inputs) - x.size_bytes
    return call.plan(call.kernel(call.binding.kernel, inputs, [x], cost=1, read=size, written=size or x.size_bytes))


def _scatter(call: OperatorCall, copied: int = 0) -> KernelPlan | None:
    x, index, updates = (call.tensor(name) for name in ("x", "index", "updates"))
    if index is None or updates is None or (x is None and not call.outputs_optional):
        return None
    outputs = [] if x is None else [x]
    size = updates.size_bytes
    spec = call.kernel(
        call.binding.kernel,
        [*outputs, index, updates],
        outputs,
        over=updates.elements,
        read=2 * size + index.size_bytes + copied,
        written=size + copied,
    )
    return call.plan(spec)
