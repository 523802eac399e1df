"""
Builders for kernels and plans.

MindSpore launches its kernels one by one (jit level O0, PyNative), so a kernel bears GE's operator type as its name
(mindspore_profiler.md 12.2: ``.../MatMul-op0/MatMulV2``); the scope is in the name of the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drynpu.kernels import (
    KernelPlan,
    KernelSpec,
    Rule,
    Signature,
    TaskType,
    TensorDesc,
    computed_on_cpu,
    cube_spec,
    format_change,
    vector_spec,
)
from drynpu_mindspore.rules._signature import Call

__all__ = ["cube_kernel", "kernel", "rule_of", "trans_data", "unknown_shapes"]


def rule_of(read: Callable[[Call], KernelPlan | None], op_type: str) -> Rule:
    """
    Return the rule that reads its signature as a :class:`Call`.

    A launch of which shapes or types are not known is shown under *op_type* without tensors and without work: nothing
    is guessed. The plan is marked as unmapped, so that the recording's metadata counts it.
    """

    def rule(signature: Signature) -> KernelPlan | None:
        call = Call(signature)
        found = read(call) if call.known else None
        return unknown_shapes(op_type) if found is None else found

    return rule


def unknown_shapes(op_type: str) -> KernelPlan:
    """Return the plan of a launch of which only the type is known."""
    spec = KernelSpec(name=op_type, op_type=op_type, task_type=TaskType.AI_VECTOR_CORE, mapped=False)
    return KernelPlan(kernels=(spec,), mapped=False)


def kernel(
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    task: TaskType = TaskType.AI_VECTOR_CORE,
    cost: float = 1,
    over: int | None = None,
    read: int | None = None,
    written: int | None = None,
) -> KernelSpec:
    """
    Return a vector kernel.

    Parameters
    ----------
    op_type:
        GE's operator type.
    cost:
        Element operations per element of *over* (by default the elements of the largest output or input).
    read, written:
        Bytes; by default all inputs once and all outputs once.

    Notes
    -----
    No AI core kernel computes DOUBLE or complex numbers: such launches become AI_CPU kernels.
    """
    if task is not TaskType.DSA and computed_on_cpu((*inputs, *outputs)):
        task = TaskType.AI_CPU
    return vector_spec(op_type, op_type, inputs, outputs, task=task, cost=cost, over=over, read=read, written=written)


def cube_kernel(
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    flops: int,
    tiles: int,
    vector_ops: int = 0,
    hf32: bool = False,
    task: TaskType = TaskType.AI_CORE,
) -> KernelSpec:
    """
    Return a kernel of the matrix unit; with a *task* of MIX_AIC of both units.

    *flops* counts multiply and add, *tiles* the independent output tiles. DOUBLE and complex go to the AI CPU.
    """
    on_cpu = computed_on_cpu((*inputs, *outputs))
    return cube_spec(
        op_type,
        op_type,
        inputs,
        outputs,
        flops=flops,
        tiles=tiles,
        task=TaskType.AI_CPU if on_cpu else task,
        vector_ops=vector_ops,
        hf32=hf32 and not on_cpu and task is not TaskType.AI_CPU,
    )


def trans_data(source: TensorDesc, target: TensorDesc) -> KernelSpec:
    """Return the kernel that changes the format."""
    return format_change("TransData", source, target)
