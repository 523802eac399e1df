"""Drop-out: a mask by the random number unit, then its use."""

from __future__ import annotations

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import ceil_div
from drynpu.kernels._types import KernelPlan, TaskType, TensorDesc

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
