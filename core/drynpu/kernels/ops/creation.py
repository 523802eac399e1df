"""
Operators that make tensors of next to nothing: fills, sequences, random numbers, and whatever runs on the AI CPU.

Fills write only. Random numbers, lists and searches of graphs run on the AI CPU (device_and_cost_model.md 4.3).
"""

from __future__ import annotations

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._types import KernelPlan, KernelSpec, TaskType, TensorDesc


def fill(call: OperatorCall) -> KernelPlan | None:
    """Write one number everywhere; without a known result, everywhere in a tensor like ``x``."""
    out = call.output() or call.tensor("x")
    return None if out is None else call.plan(fill_kernel(call, call.tensors(), out))


def fill_kernel(call: OperatorCall, inputs: list[TensorDesc], out: TensorDesc, op_type: str = "") -> KernelSpec:
    """Return the kernel of a fill, which writes *out* and reads next to nothing."""
    return call.kernel(op_type or call.binding.kernel, inputs, [out], cost=0, read=0)


def make(call: OperatorCall, task: TaskType = TaskType.AI_VECTOR_CORE) -> KernelPlan | None:
    """Write the results, at one element operation each, from whatever the operator is given."""
    if call.output() is None and not call.outputs_optional:
        return None
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), call.outputs, task=task))


def make_on_cpu(call: OperatorCall) -> KernelPlan | None:
    """Do the same on the AI CPU."""
    return make(call, TaskType.AI_CPU)


def sequence(call: OperatorCall) -> KernelPlan | None:
    """Write numbers that follow from constants: nothing is read."""
    out = call.output()
    return None if out is None else call.plan(call.kernel(call.binding.kernel, call.tensors(), [out], read=0))
