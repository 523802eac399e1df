"""
Operators that work element by element: activations and their gradients, comparisons, casts, losses.

Their kernels cost what ``element_operations`` has for their type, per element of the result.
"""

from __future__ import annotations

from drynpu.kernels._call import NO_DATA, OperatorCall
from drynpu.kernels._rules import broadcast_shape
from drynpu.kernels._types import KernelPlan, KernelSpec, TensorDesc
from drynpu.kernels.ops._shapes import ge_dtype


def elementwise(call: OperatorCall) -> KernelPlan | None:
    """Combine the operands element by element; the result has the type of the operand ``x``."""
    return _each(call)


def comparison(call: OperatorCall) -> KernelPlan | None:
    """Compare or test: the result is BOOL."""
    return _each(call, "BOOL")


def accumulation(call: OperatorCall) -> KernelPlan | None:
    """Join any number of operands, one after the other: sums, the largest, the smallest."""
    return _each(call, operands=call.tensors())


def cast(call: OperatorCall) -> KernelPlan | None:
    """``x dtype``: nothing is launched where the type stays."""
    x, out = call.tensor("x"), call.output()
    if x is None:
        return None
    if out is None:
        if "dtype" not in call.binding.arguments:
            return None
        dtype = ge_dtype(call.text("dtype"))
        if dtype == NO_DATA:  # nothing is known of the result
            return call.plan(call.kernel("Cast", [x], []))
        out = TensorDesc(x.shape, dtype, x.format)
    return call.plan() if x.dtype == out.dtype else call.plan(call.kernel("Cast", [x], [out]))


def cast_kernel(call: OperatorCall, source: TensorDesc, dtype: str) -> KernelSpec:
    """Return the kernel that converts *source* to *dtype*."""
    return call.kernel("Cast", [source], [TensorDesc(source.shape, dtype, source.format)])


def _each(call: OperatorCall, dtype: str = "", operands: list[TensorDesc] | None = None) -> KernelPlan | None:
    many = operands is not None
    operands = _operands(call) if operands is None else operands
    out = call.output() or _result(call, operands, dtype)
    if not operands or out is None:
        return None
    operations = call.binding.operations * (max(len(operands) - 1, 1) if many else 1)
    if call.binding.arguments and not many:
        operations += sum(call.operations_of(name) for name in call.fused)
    return call.plan(call.kernel(call.binding.kernel, operands, [out], cost=operations, over=out.elements))


def _operands(call: OperatorCall) -> list[TensorDesc]:
    """Return what the kernel takes: as many tensors as the operator has operands, all where others are fused in."""
    named = len(call.binding.arguments)
    return call.tensors() if call.fused or not named else call.tensors()[:named]


def _result(call: OperatorCall, operands: list[TensorDesc], dtype: str) -> TensorDesc | None:
    """Return the result where the framework did not say it, ``None`` where operands are missing or do not fit."""
    arguments = call.binding.arguments
    shape = broadcast_shape([t.shape for t in call.tensors()])
    if not arguments or len(operands) < len(arguments) or shape is None:
        return None
    return TensorDesc(shape, dtype or operands[arguments.index("x")].dtype)
