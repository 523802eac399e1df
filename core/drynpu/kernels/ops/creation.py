"""
Operators that make tensors of next to nothing: fills, sequences, random numbers, masks, and work of the AI CPU.

Fills write only. Random numbers, lists and searches of graphs run on the AI CPU (device_and_cost_model.md 4.3).
Drop-out is a mask by the random number unit, then its use.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import ceil_div
from drynpu.kernels._types import KernelPlan, KernelSpec, TaskType, TensorDesc


def fill(call: OperatorCall) -> KernelPlan | None:
    """Write one number everywhere; without a known result, everywhere in a tensor like ``x``."""
    out = call.output() or call.tensor("x")
    return None if out is None else call.plan(fill_kernel(call, call.tensors(), out))


def fill_kernel(call: OperatorCall, inputs: list[TensorDesc], out: TensorDesc, op_type: str = "") -> KernelSpec:
    """Return the kernel of a fill, which writes *out* and reads next to nothing."""
    return call.kernel(op_type or call.binding.kernel, inputs, [out], cost=0, read=0)


def clear_kernel(call: OperatorCall, cleared: Sequence[TensorDesc], suffix: str = "") -> KernelSpec:
    """Return the kernel that clears tensors before another one adds to them; it lists none of them (measured)."""
    written = sum(t.size_bytes for t in cleared)
    return call.kernel("MemSet", [], [], suffix=suffix, tail=not suffix, cost=0, over=0, written=written)


def make(call: OperatorCall, task: TaskType = TaskType.AI_VECTOR_CORE) -> KernelPlan | None:
    """Write the results, at one element operation each, from whatever the operator is given."""
    if call.output() is None and not call.outputs_optional:
        return None
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), call.outputs, task=task))


def make_on_cpu(call: OperatorCall) -> KernelPlan | None:
    """Write the results as :func:`make` does, on the AI CPU."""
    return make(call, TaskType.AI_CPU)


def sequence(call: OperatorCall) -> KernelPlan | None:
    """Write numbers that follow from constants: nothing is read."""
    out = call.output()
    return None if out is None else call.plan(call.kernel(call.binding.kernel, call.tensors(), [out], read=0))


_DROPOUT_OPS = 2
_MASK_BITS = 128
"""A mask has a bit per element, in multiples of 128 bits (aclnnDropoutGenMask)."""


def drop_mask(elements: int) -> TensorDesc:
    """Return the mask of that many elements, in bytes."""
    return TensorDesc((ceil_div(elements, _MASK_BITS) * (_MASK_BITS // 8),), "UINT8")


def dropout(call: OperatorCall) -> KernelPlan | None:
    """``x``: a new mask, and its use."""
    x = call.tensor("x")
    if x is None:
        return None
    mask = drop_mask(x.elements)
    random = call.kernel("DropOutGenMask", [], [mask], task=TaskType.DSA, cost=0, over=x.elements)
    return call.plan(random, call.kernel(call.binding.kernel, [x, mask], [x], cost=_DROPOUT_OPS, over=x.elements))


def dropout_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy``: the mask of the forward call once more."""
    dy = call.tensor("dy")
    if dy is None:
        return None
    inputs = [dy, drop_mask(dy.elements)]
    return call.plan(call.kernel(call.binding.kernel, inputs, [dy], cost=_DROPOUT_OPS, over=dy.elements))


def draw_mask(call: OperatorCall) -> KernelPlan | None:
    """Draw a mask that another operator applies: bits, or the numbers that the framework has of it."""
    out = call.output()
    if out is None:
        return None
    mask = _packed(out)
    return call.plan(call.kernel(call.binding.kernel, [], [mask], task=TaskType.DSA, cost=0, over=out.elements))


def apply_mask(call: OperatorCall) -> KernelPlan | None:
    """``x mask``: scale what a mask keeps."""
    x, mask = call.tensor("x"), call.tensor("mask")
    if x is None or mask is None:
        return None
    return call.plan(call.kernel(call.binding.kernel, [x, _packed(mask)], [x], cost=_DROPOUT_OPS, over=x.elements))


def _packed(mask: TensorDesc) -> TensorDesc:
    """Return a mask as the device has it, where the framework has a BOOL for each element."""
    return drop_mask(mask.elements) if mask.dtype == "BOOL" else mask
