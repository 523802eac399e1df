"""
The kernels that PyNative launches for the gradients of a forward call.

Only kernels whose shapes follow from the call alone are listed. MindSpore goes through the calls backwards and computes
the gradient of the first input first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from attrs import evolve

from drynpu.kernels import Signature, TensorDesc
from drynpu_mindspore.capture._forward import ForwardCall
from drynpu_mindspore.rules import signature

_OF_RESULT = {
    "ReLU": ("ReluGrad", 2),
    "Sigmoid": ("SigmoidGrad", 2),
    "Tanh": ("TanhGrad", 2),
    "Sqrt": ("SqrtGrad", 2),
    "Rsqrt": ("RsqrtGrad", 2),
    "SiLU": ("SiLUGrad", 2),
    "GeLU": ("GeLUGrad", 3),
}
"""Forward primitive -> kernel of its gradient and number of its operands, all of the shape of the call's result."""
EXPLAINED = (*(gradient for gradient, _ in _OF_RESULT.values()), "MatMul", "BatchMatMul")
"""Kernels of a backward pass whose shapes follow from the forward calls."""
MATRIX_CALLS = {
    "MatMul": ("MatMul",),
    "BatchMatMul": ("BatchMatMul",),
    "MatMulExt": ("BatchMatMul", "MatMul"),
    "BatchMatMulExt": ("BatchMatMul", "BatchMatMulExt"),
    "Mm": ("MatMul", "Mm"),
}
"""Products with the kernels that they may be launched as."""


def expected_gradients(calls: Sequence[ForwardCall], kernel: str, wanted: int) -> list[Signature] | None:
    """
    Return the *wanted* launches of *kernel* in the backward pass of *calls*, in their order.

    ``None`` where the calls lead to another number of launches, or where the result of a call is not known. Results of
    views do not show whether a gradient flows back to them: either all of them take part or none does.
    """
    if any(call.outputs is None and kernel in _kernels(call) for call in calls):
        return None
    for behind_views in (True, False):
        gradients = [
            gradient for call in reversed(calls) for gradient in _gradients(call, kernel, behind_views=behind_views)
        ]
        if len(gradients) == wanted:
            return gradients
    return None


def _kernels(call: ForwardCall) -> tuple[str, ...]:
    gradient, _ = _OF_RESULT.get(call.primitive, ("", 0))
    return (gradient, *MATRIX_CALLS.get(call.primitive, ()))


def _gradients(call: ForwardCall, kernel: str, *, behind_views: bool) -> Iterator[Signature]:
    flows = [behind_views if flag is None else flag for flag in call.gradient]
    gradient, operands = _OF_RESULT.get(call.primitive, ("", 0))
    if gradient == kernel and call.outputs is not None and any(flows):
        (result,) = call.outputs
        yield signature(kernel, [result] * operands, [result])
    call = as_launched(call)
    if _launched(call) != kernel or call.outputs is None:
        return
    a, b = call.inputs[0], call.inputs[1]
    if a is None or b is None:
        return
    (dy,) = call.outputs
    turn_a, turn_b = (len(call.arguments) > at and call.arguments[at] is True for at in (2, 3))
    if flows[0]:
        pair, turns = ((b, dy), (turn_b, True)) if turn_a else ((dy, b), (False, not turn_b))
        yield _product(kernel, pair, turns, a)
    if flows[1]:
        pair, turns = ((dy, a), (True, turn_a)) if turn_b else ((a, dy), (not turn_a, False))
        yield _product(kernel, pair, turns, b)


def as_launched(call: ForwardCall) -> ForwardCall:
    """Return a product of a stack with one matrix as MindSpore launches it: as one matrix of all rows of the stack."""
    operands = [t for t in call.inputs[:2] if t is not None]
    if call.primitive != "MatMulExt" or len(operands) < 2 or len(operands[1].shape) != 2 or len(operands[0].shape) < 3:
        return call
    outputs = None if call.outputs is None else tuple(_rows(t) for t in call.outputs)
    return evolve(call, inputs=(_rows(operands[0]), operands[1], *call.inputs[2:]), outputs=outputs)


def _rows(tensor: TensorDesc) -> TensorDesc:
    *stack, columns = tensor.shape
    return TensorDesc((math.prod(stack), columns), tensor.dtype)


def _launched(call: ForwardCall) -> str:
    """Return the kernel that launches a product; products of stacks of matrices have a kernel of their own."""
    kernels = MATRIX_CALLS.get(call.primitive, ("",))
    operands = [t for t in call.inputs[:2] if t is not None]
    if len(operands) < 2 or call.primitive == "MatMul" or len(kernels) == 1:
        return kernels[0]
    return "BatchMatMul" if max(len(t.shape) for t in operands) > 2 else "MatMul"


def _product(
    kernel: str, pair: tuple[TensorDesc, TensorDesc], turns: tuple[bool, bool], result: TensorDesc
) -> Signature:
    return signature(kernel, [*pair, None, None], [result], None, [None, None, *turns])
