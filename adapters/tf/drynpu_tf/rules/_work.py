"""
Builders for kernels and plans.

In a graph the profile shows a kernel under the name of its node (``Op Name``) and GE's operator type; what the graph
engine adds has names of its own (``trans_TransData_3``). Without a node, as in eager code, the type stands for both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from attrs import evolve

from drynpu.kernels import (
    KernelPlan,
    KernelSpec,
    Signature,
    TaskType,
    TensorDesc,
    computed_on_cpu,
    cube_spec,
    launched,
    output_tiles,
    vector_spec,
)
from drynpu_tf.rules._dtypes import NO_DATA
from drynpu_tf.rules._signature import Call

__all__ = [
    "Rule",
    "ceil_div",
    "cube_kernel",
    "framed",
    "fused_name",
    "kernel",
    "like",
    "nothing",
    "output_tiles",
    "plan",
    "product",
    "rule_of",
    "trans_data",
]

Rule = Callable[[Signature], "KernelPlan | None"]

_LONGEST_NAME = 512


def rule_of(read: Callable[[Call], KernelPlan | None]) -> Rule:
    """Return the rule that reads its signature as a :class:`Call`."""

    def rule(signature: Signature) -> KernelPlan | None:
        return read(Call(signature))

    return rule


def ceil_div(value: int, divisor: int) -> int:
    """Return *value* / *divisor* rounded up."""
    return -(-value // divisor)


def product(dims: Iterable[int]) -> int:
    """Return the product of *dims*, 1 for none."""
    return math.prod(dims)


def like(other: TensorDesc, *, dtype: str | None = None, layout: str | None = None) -> TensorDesc:
    """Return a tensor of the shape of *other*."""
    return TensorDesc(other.shape, dtype or other.dtype, layout or other.format)


def _name(call: Call, op_type: str, suffix: str, *, tail: bool = True) -> str:
    """Return the name of a kernel; one made of several nodes bears the names of all of them."""
    whole = (call.node or op_type) + suffix + (call.text("_tail") if tail else "")
    return whole[:_LONGEST_NAME]


def fused_name(call: Call) -> str:
    """Return the name of an operator made of several nodes."""
    half = "_Update" if call.signature.name.startswith("FusedBatchNorm") else ""
    return _name(call, call.signature.name, half)


def framed(rule: Rule) -> Rule:
    """Return *rule* with the TransData kernels that the graph engine puts before and behind a node's kernels."""

    def around(signature: Signature) -> KernelPlan | None:
        found = rule(signature)
        attrs = Call(signature).attrs if found is not None else {}
        if found is None or not ("_before" in attrs or "_after" in attrs):
            return found
        before, after = _format_changes(attrs.get("_before")), _format_changes(attrs.get("_after"))
        return evolve(found, kernels=(*before, *found.kernels, *after))

    return around


def _format_changes(changes: object) -> list[KernelSpec]:
    """Return the kernels of ``(number, from, to)`` entries."""
    return [trans_data(*change) for change in changes] if isinstance(changes, tuple) else []


def trans_data(number: int, source: TensorDesc, target: TensorDesc) -> KernelSpec:
    """Return the kernel that changes the format; the graph engine numbers them through a graph."""
    return KernelSpec(
        name=f"trans_TransData_{number}",
        op_type="TransData",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(source,),
        outputs=(target,),
        bytes_read=source.size_bytes,
        bytes_written=target.size_bytes,
    )


def kernel(
    call: Call,
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    suffix: str = "",
    tail: bool = True,
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
    suffix:
        What the graph engine adds to the name of the node where it makes several kernels of one.
    tail:
        Whether this kernel of the node is the one that later nodes were fused into.
    cost:
        Element operations per element of *over* (by default the elements of the largest output or input).
    read, written:
        Bytes; by default all inputs once and all outputs once.

    Notes
    -----
    Inputs and outputs that hold no numbers are left out. No AI core kernel computes DOUBLE or complex numbers: such
    calls become AI_CPU kernels.
    """
    taken = tuple(t for t in inputs if t.dtype != NO_DATA)
    made = tuple(t for t in outputs if t.dtype != NO_DATA)
    if task is not TaskType.DSA and computed_on_cpu((*taken, *made)):
        task = TaskType.AI_CPU
    return vector_spec(
        _name(call, op_type, suffix, tail=tail),
        op_type,
        taken,
        made,
        task=task,
        cost=cost,
        over=over,
        read=read,
        written=written,
    )


def cube_kernel(
    call: Call,
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    flops: int,
    tiles: int,
    vector_ops: int = 0,
    hf32: bool = False,
) -> KernelSpec:
    """
    Return a kernel of the matrix unit.

    *flops* counts multiply and add, *tiles* the independent output tiles. DOUBLE and complex go to the AI CPU.
    """
    on_cpu = computed_on_cpu((*inputs, *outputs))
    return cube_spec(
        _name(call, op_type, ""),
        op_type,
        inputs,
        outputs,
        flops=flops,
        tiles=tiles,
        task=TaskType.AI_CPU if on_cpu else TaskType.AI_CORE,
        vector_ops=vector_ops,
        hf32=hf32 and not on_cpu,
    )


def plan(*kernels: KernelSpec, synchronizes: bool = False) -> KernelPlan:
    """Return a plan; kernels without any element are left out, as nothing is launched for empty tensors."""
    return KernelPlan(kernels=launched(kernels), synchronizes=synchronizes)


def nothing(signature: Signature) -> KernelPlan:
    """Rule of operators that launch nothing on a device."""
    del signature
    return KernelPlan()
