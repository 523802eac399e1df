"""What the rules of all frameworks state about a kernel in the same way: its work, bytes and tiles."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from drynpu.kernels._types import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc

_CPU_ONLY = frozenset({"DOUBLE", "COMPLEX64", "COMPLEX128"})
_TILE_M, _TILE_N = 128, 256


def ceil_div(value: int, divisor: int) -> int:
    """Return *value* / *divisor* rounded up."""
    return -(-value // divisor)


def tensor_like(other: TensorDesc, *, dtype: str | None = None, layout: str | None = None) -> TensorDesc:
    """Return a tensor of the shape of *other*."""
    return TensorDesc(other.shape, dtype or other.dtype, layout or other.format)


def computed_on_cpu(tensors: Iterable[TensorDesc]) -> bool:
    """Return whether any of *tensors* is of a type that no AI core computes: DOUBLE or complex."""
    return any(tensor.dtype in _CPU_ONLY for tensor in tensors)


def vector_spec(
    name: str,
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
    cost:
        Element operations per element of *over* (by default the elements of the largest output or input).
    read, written:
        Bytes; by default all inputs once and all outputs once.
    """
    elements = max((t.elements for t in (*inputs, *outputs)), default=0) if over is None else over
    return KernelSpec(
        name=name,
        op_type=op_type,
        task_type=task,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        vector_ops=round(elements * cost),
        bytes_read=sum(t.size_bytes for t in inputs) if read is None else read,
        bytes_written=sum(t.size_bytes for t in outputs) if written is None else written,
    )


def cube_spec(
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
    """
    Return a kernel of the matrix unit; with a *task* of MIX_AIC of both units.

    *flops* counts multiply and add, *tiles* the independent output tiles; *read* are bytes, by default all inputs once.
    """
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

    The tile reproduces the measured block numbers (device_and_cost_model.md 3.3): 16 for a [32, 4096] result, all 24
    cores for larger ones.
    """
    return ceil_div(rows, _TILE_M) * ceil_div(columns, _TILE_N)


def format_change(name: str, source: TensorDesc, result: TensorDesc) -> KernelSpec:
    """Return the TransData kernel that makes *result* of *source*."""
    return vector_spec(name, "TransData", [source], [result], cost=0)


def launched(kernels: Iterable[KernelSpec]) -> tuple[KernelSpec, ...]:
    """Return *kernels* without those that have no element: nothing is launched for empty tensors."""
    return tuple(kernel for kernel in kernels if not _is_empty(kernel))


def _is_empty(spec: KernelSpec) -> bool:
    judged = spec.outputs or spec.inputs
    return bool(judged) and all(t.elements == 0 for t in judged)


def plan_of(*kernels: KernelSpec, synchronizes: bool = False, in_graph: bool = False) -> KernelPlan:
    """Return the plan of an operator that launches *kernels*, but for those without any element."""
    return KernelPlan(kernels=launched(kernels), synchronizes=synchronizes, in_graph=in_graph)


def launches_nothing(signature: Signature) -> KernelPlan:
    """Rule of operators that launch nothing on a device."""
    del signature
    return KernelPlan()
