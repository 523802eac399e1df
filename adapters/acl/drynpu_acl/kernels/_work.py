"""
Builders for kernels and plans.

The profile shows a kernel under the name of its node (``Op Name``) and GE's operator type; what the graph engine adds
has names of its own (``trans_TransData_3``).
"""

from __future__ import annotations

from collections.abc import Sequence

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
from drynpu_acl.kernels._call import Call, Rule
from drynpu_acl.kernels._dtypes import NO_DATA

__all__ = ["blocked", "ceil_div", "cube_kernel", "framed", "is_image", "kernel", "output_tiles", "plan", "trans_data"]

_LONGEST_NAME = 512


def ceil_div(value: int, divisor: int) -> int:
    """Return *value* / *divisor* rounded up."""
    return -(-value // divisor)


def is_image(tensor: TensorDesc) -> bool:
    """Whether a tensor can be an image: four dims."""
    return len(tensor.shape) == 4


def blocked(image: TensorDesc) -> TensorDesc:
    """
    Return an NCHW image as the cube unit and pooling want it: NC1HWC0.

    C0 is 8 for FP32 and 16 for narrower types (device_and_cost_model.md 4.2).
    """
    n, c, h, w = image.shape
    c0 = 8 if image.dtype == "FLOAT" else 16
    return TensorDesc((n, ceil_div(c, c0), h, w, c0), image.dtype, "NC1HWC0")


def _name(call: Call) -> str:
    """Return the name of a kernel; one made of several nodes bears the names of those that the engine joins."""
    return (call.node + call.text("_tail"))[:_LONGEST_NAME]


def kernel(
    call: Call,
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
    Inputs and outputs that hold no numbers are left out. No AI core kernel computes DOUBLE or complex numbers: such
    calls become AI_CPU kernels.
    """
    taken = tuple(t for t in inputs if t.dtype != NO_DATA)
    made = tuple(t for t in outputs if t.dtype != NO_DATA)
    if computed_on_cpu((*taken, *made)):
        task = TaskType.AI_CPU
    return vector_spec(_name(call), op_type, taken, made, task=task, cost=cost, over=over, read=read, written=written)


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
        _name(call),
        op_type,
        inputs,
        outputs,
        flops=flops,
        tiles=tiles,
        task=TaskType.AI_CPU if on_cpu else TaskType.AI_CORE,
        vector_ops=vector_ops,
        hf32=hf32 and not on_cpu,
    )


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


def plan(*kernels: KernelSpec) -> KernelPlan:
    """Return the plan of a node of a graph; kernels without any element are left out."""
    return KernelPlan(kernels=launched(kernels), in_graph=True)


def framed(rule: Rule) -> Rule:
    """Return *rule* with the TransData kernels that the graph engine puts before and behind a node's kernels."""

    def around(signature: Signature) -> KernelPlan | None:
        found = rule(signature)
        if found is None:
            return None
        attrs = Call(signature).attrs
        before, after = (_format_changes(attrs.get(name)) for name in ("_before", "_after"))
        return evolve(found, kernels=(*before, *found.kernels, *after)) if before or after else found

    return around


def _format_changes(changes: object) -> list[KernelSpec]:
    """Return the kernels of ``(number, from, to)`` entries."""
    return [trans_data(*change) for change in changes] if isinstance(changes, tuple) else []
