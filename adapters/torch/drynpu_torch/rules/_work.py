"""
Builders for kernels and plans.

Kernel names follow ``<aclnn api>_<L0 function>_<type>`` (device_and_cost_model.md 4); operators whose aclnn
interface is generated have no L0 function and show the bare type (4.1). Where the page does not spell the L0
function out, the name in the public operator sources is taken, which mostly is ``<type>AiCore``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from drynpu.kernels import Copy, KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._signature import native_format

__all__ = ["Rule", "cube_kernel", "kernel", "like", "output_tiles", "plan", "scalar", "tensor", "to_host"]

Rule = Callable[[Signature], "KernelPlan | None"]

_CPU_ONLY = frozenset({"DOUBLE", "COMPLEX64", "COMPLEX128"})
_TILE_M, _TILE_N = 128, 256


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
    elements = max((t.elements for t in (*inputs, *outputs)), default=0) if over is None else over
    return KernelSpec(
        name=f"{api}_{function}_{op_type}" if api else op_type,
        op_type=op_type,
        task_type=TaskType.AI_CPU if host_core else task,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        vector_ops=round(elements * cost),
        bytes_read=sum(t.size_bytes for t in inputs) if read is None else read,
        bytes_written=sum(t.size_bytes for t in outputs) if written is None else written,
    )


def _needs_ai_cpu(inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> bool:
    # Scalar operands may be DOUBLE on the host side of the call (Range is listed so): only real tensors count.
    return any(t.dtype in _CPU_ONLY for t in outputs) or any(t.dtype in _CPU_ONLY and t.shape for t in inputs)


def cube_kernel(
    name: str,
    op_type: str,
    inputs: Sequence[TensorDesc],
    outputs: Sequence[TensorDesc],
    *,
    flops: int,
    tiles: int,
    task: TaskType = TaskType.AI_CORE,
    vector_ops: int = 0,
    hf32: bool = False,
    read: int | None = None,
) -> KernelSpec:
    """Return a kernel of the matrix unit; *flops* counts multiply and add, *tiles* the independent output tiles."""
    return KernelSpec(
        name=name,
        op_type=op_type,
        task_type=task,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        cube_flops=flops,
        vector_ops=vector_ops,
        bytes_read=sum(t.size_bytes for t in inputs) if read is None else read,
        bytes_written=sum(t.size_bytes for t in outputs),
        cube_tiles=max(tiles, 1),
        hf32=hf32,
    )


def output_tiles(rows: int, columns: int) -> int:
    """
    Return the number of 128 x 256 tiles of a matrix.

    The tile reproduces the measured block numbers: 16 for a [32, 4096] result, all 24 cores for larger ones.
    """
    return -(-rows // _TILE_M) * -(-columns // _TILE_N)


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
    return KernelPlan(
        api=api, kernels=tuple(k for k in kernels if not _is_empty(k)), claims=claims, synchronizes=synchronizes
    )


def _is_empty(spec: KernelSpec) -> bool:
    judged = spec.outputs or spec.inputs
    return bool(judged) and all(t.elements == 0 for t in judged)
