"""
Builders for kernels and plans.

Kernel names follow ``<aclnn api>_<L0 function>_<type>`` (device_and_cost_model.md 4); operators whose aclnn
interface is generated have no L0 function and show the bare type (4.1). Where the page does not spell the L0
function out, the name in the public operator sources is taken, which mostly is ``<type>AiCore``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drynpu.kernels import (
    Copy,
    KernelPlan,
    KernelSpec,
    Signature,
    TaskType,
    TensorDesc,
    computed_on_cpu,
    launched,
    output_tiles,
    vector_spec,
)
from drynpu.kernels import cube_spec as cube_kernel
from drynpu_torch.rules._signature import native_format

__all__ = ["Rule", "cube_kernel", "kernel", "like", "output_tiles", "plan", "scalar", "tensor", "to_host"]

Rule = Callable[[Signature], "KernelPlan | None"]


def tensor(shape: Sequence[int], dtype: str, layout: str | None = None) -> TensorDesc:
    """Return a tensor in *layout*; by default in the format torch_npu gives a tensor of that rank."""
    return TensorDesc(tuple(shape), dtype, layout or native_format(len(shape)))


def scalar(dtype: str) -> TensorDesc:
    """Return a scalar operand: samples list it with an empty shape."""
    return TensorDesc((), dtype)


def like(other: TensorDesc, *, dtype: str | None = None, layout: str | None = None) -> TensorDesc:
    """Return a tensor of the shape of *other*."""
    return TensorDesc(other.shape, dtype or other.dtype, layout or other.format)


def kernel(
    api: str,
    function: str | None,
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
    api, function, op_type:
        Parts of the name. *function* ``None`` means ``<op_type>AiCore``; an empty *api* means the bare type.
    cost:
        Element operations per element of *over* (by default the elements of the largest output or input).
    read, written:
        Bytes; by default all inputs once and all outputs once.

    Notes
    -----
    No AI core kernel computes DOUBLE or complex numbers: such calls become AI_CPU kernels.
    """
    host_core = task is not TaskType.DSA and _needs_ai_cpu(inputs, outputs)
    if function is None:
        function = f"{op_type}AiCpu" if host_core else f"{op_type}AiCore"
    return vector_spec(
        f"{api}_{function}_{op_type}" if api else op_type,
        op_type,
        inputs,
        outputs,
        task=TaskType.AI_CPU if host_core else task,
        cost=cost,
        over=over,
        read=read,
        written=written,
    )


def _needs_ai_cpu(inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> bool:
    # Scalar operands may be DOUBLE on the host side of the call (Range is listed so): only real tensors count.
    return computed_on_cpu(outputs) or computed_on_cpu(t for t in inputs if t.shape)


def to_host(source: TensorDesc) -> KernelSpec:
    """Return the copy of a small result to the host."""
    return KernelSpec(
        name=TaskType.MEMCPY.value,
        op_type=TaskType.MEMCPY.value,
        task_type=TaskType.MEMCPY,
        inputs=(source,),
        outputs=(source,),
        bytes_read=source.size_bytes,
        bytes_written=source.size_bytes,
        copy=Copy.DEVICE_TO_HOST,
    )


def plan(api: str, *kernels: KernelSpec, claims: bool = True, synchronizes: bool = False) -> KernelPlan:
    """Return a plan; kernels without any element are left out, as aclnn returns early for empty tensors."""
    return KernelPlan(api=api, kernels=launched(kernels), claims=claims, synchronizes=synchronizes)
