"""The work of kernels as their files describe it: type, core, shapes, data types and formats."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drynpu.analysis.calculation import kernel_work
from drynpu.kernels import (
    DTYPES,
    NO_DATA,
    SOFTMAX_GRADIENT_OPS,
    SOFTMAX_OPS,
    Copy,
    KernelSpec,
    TaskType,
    TensorDesc,
    attention_pairs,
    family_of,
    is_gradient,
)
from drynpu.tables import Profile

DESCRIBED = (
    *("op_type", "task_type", "op_state", "hf32", "input_shapes", "input_dtypes", "input_formats"),
    *("output_shapes", "output_dtypes", "output_formats"),
)
"""Columns of the table of kernels that make their work different."""
KERNEL_KEY = ("op_type", "task_type", "input_shapes", "input_dtypes", "output_shapes")
"""What tells distinct kernels apart on the pages."""
_CORES = {each.value: each for each in TaskType} | {"DSA_SQE": TaskType.DSA}
_STATIC = "static"


def described_work(profile: Profile, distinct: pl.DataFrame, within_ns: tuple[int, int]) -> list[KernelSpec | None]:
    """
    Return the work of distinct kernels; ``None`` where the files do not tell it.

    Parameters
    ----------
    distinct:
        Columns `DESCRIBED`, texts.
    within_ns:
        Time in which all of them begin.
    """
    flops = kernel_work(profile, within_ns).select(*KERNEL_KEY, "cube_flops").unique(KERNEL_KEY)
    rows = distinct.join(flops, on=KERNEL_KEY, how="left", maintain_order="left")
    return [_spec(*row) for row in rows.select(*DESCRIBED, "cube_flops").iter_rows()]


def copy_work(size_bytes: int, kind: int) -> KernelSpec | None:
    """Return the work of a copy of *size_bytes*; ``None`` where its direction is not known."""
    directions = {each.value: each for each in Copy}
    if kind not in directions:
        return None
    name = TaskType.MEMCPY.value
    return KernelSpec(
        name=name,
        op_type=name,
        task_type=TaskType.MEMCPY,
        bytes_read=size_bytes,
        bytes_written=size_bytes,
        copy=directions[kind],
    )


def _spec(
    op_type: str, task_type: str, op_state: str, hf32: bool | None, *described: str | float | None
) -> KernelSpec | None:
    *texts, flops = described
    inputs, outputs = (_tensors(*map(str, side)) for side in (texts[:3], texts[3:]))
    core = _CORES.get(task_type)
    if core is None or not (inputs or outputs):
        return None
    operations = float(flops or 0.0)
    family = family_of(op_type).name
    if not operations and family in ("matmul", "conv", "attention") and core is not TaskType.AI_CPU:
        return None
    read, written = _moved(family, inputs, outputs)
    return KernelSpec(
        name=op_type,
        op_type=op_type,
        task_type=core,
        inputs=inputs,
        outputs=outputs,
        cube_flops=round(operations),
        vector_ops=round(_elements(op_type, family, inputs, outputs)),
        bytes_read=read,
        bytes_written=written,
        hf32=bool(hf32),
        static=op_state == _STATIC,
    )


def _elements(op_type: str, family: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> float:
    """Return the element operations of a kernel, as many as its family does on its largest tensor."""
    if family == "attention":
        pairs = attention_pairs(inputs, outputs)
        return (SOFTMAX_GRADIENT_OPS if is_gradient(op_type) else SOFTMAX_OPS) * pairs.computed
    if family in ("matmul", "conv"):
        return 0.0
    return family_of(op_type).operations * max(tensor.elements for tensor in (*inputs, *outputs))


def _moved(family: str, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]) -> tuple[int, int]:
    """Return the bytes that enter and leave the cores."""
    read, written = (sum(tensor.size_bytes for tensor in side) for side in (inputs, outputs))
    largest = max((tensor.size_bytes for tensor in inputs), default=0)
    if family == "gather":
        # Of its table a gather reads what it returns.
        return read - largest + min(largest, written), written
    if family == "fill":
        return 0, written or read
    return read, written


def _tensors(shapes: str, dtypes: str, formats: str) -> tuple[TensorDesc, ...]:
    """Return the tensors of one side; those without a known type are left out."""
    texts = shapes.split(";") if shapes or dtypes else []
    types, layouts = ((text.split(";") + [""] * len(texts))[: len(texts)] for text in (dtypes, formats))
    known = []
    for text, dtype, layout in zip(texts, types, layouts, strict=True):
        dims = text.split(",") if text else []
        if dtype in DTYPES and dtype != NO_DATA and all(dim.strip().isdigit() for dim in dims):
            name = layout.partition(":")[0]
            known.append(TensorDesc(tuple(map(int, dims)), dtype, name or "ND"))
    return tuple(known)
