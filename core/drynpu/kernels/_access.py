"""
Accesses that cost time by their number, not their bytes: rows found by an index, short runs of a changed layout.

A core waits for the address of a row before it can ask for it, and copies a run at a time; both go on in all cores at
once. Numbers describe A2 kernels in ns per core: 102 rows of a gather in 34 us, 102 single elements in 32-39 us,
runs of 9 to 36 elements in 16 to 38 ns.
"""

from __future__ import annotations

import math
from typing import Final

from drynpu.kernels._families import family_of
from drynpu.kernels._types import DTYPES, KernelSpec, TensorDesc

INDEX_DTYPES: Final = frozenset({"INT32", "INT64", "UINT32", "UINT64"})
_INDEX_FIRST: Final = frozenset({"ScatterNd"})
"""Kernels whose first input is the index; the data stand first everywhere else."""
_ROW_NS: Final = 290.0
_ROW_NS_UNIFIED: Final = 100.0
"""First generation: 468 000 rows of 320 bytes are summed in 1.6 ms."""
_RUN_NS: Final = 18.0
_BLOCK_ROW: Final = 8
"""Rows that a transposing instruction of the vector unit takes at once: runs are never shorter to a core."""
_TURNED_RUN: Final = 8
_CHANNELS_FIRST: Final = frozenset({"NCHW", "NCL", "NCDHW"})
_CHANNELS_LAST: Final = frozenset({"NHWC", "NDHWC"})


def access_ns(spec: KernelSpec, *, split: bool = True) -> float:
    """Return the time of all accesses that wait, summed over cores; 0 for kernels that stream."""
    family = family_of(spec.op_type).name
    if family in {"gather", "scatter"}:
        return _indexed_rows(spec) * (_ROW_NS if split else _ROW_NS_UNIFIED)
    if family == "layout":
        return _runs(spec) * _RUN_NS
    if family in _BY_ROWS:
        return _rows(spec) * _NORMALISED_ROW_NS
    return 0.0


def chain_ns(spec: KernelSpec) -> float:
    """Return the time of steps that follow each other whatever the number of cores: sums over outer axes, and joins."""
    family = family_of(spec.op_type).name
    if (family != "reduce" and family not in _BY_ROWS) or not spec.inputs or not spec.inputs[0].shape:
        return 0.0
    elements = spec.inputs[0].elements
    if family != "reduce":
        return min(elements, _CHAIN) * _STEP_NS
    results = max((t.elements for t in spec.outputs), default=1)
    chain = min(elements, _CHAIN) * _STEP_NS
    shape = spec.inputs[0].shape
    outer = len(shape) > 1 and shape[-1] > 1 and bool(spec.outputs) and spec.outputs[0].shape[-1:] == shape[-1:]
    return chain + (min(elements / max(results, 1), _CHAIN) * _OUTER_STEP_NS if outer else 0.0)


_BY_ROWS: Final = frozenset({"norm", "norm_grad", "softmax", "softmax_grad", "quant"})
_NORMALISED_ROW_NS: Final = 15.0
_CHAIN: Final = 32
_STEP_NS: Final = 60.0
_OUTER_STEP_NS: Final = 250.0
"""A sum over 32 outer rows takes 10 us more than one over as many elements of a row, whatever their length."""
_BLOCK_COLUMNS: Final = 1024


def dealt_rows(spec: KernelSpec) -> int:
    """Return how many rows a kernel deals out to cores whole; 0 for kernels that cut their work anywhere."""
    return math.ceil(_rows(spec)) if family_of(spec.op_type).name in _BY_ROWS else 0


def _rows(spec: KernelSpec) -> float:
    """Return the rows that are normalised, each on its own."""
    largest = max((*spec.inputs, *spec.outputs), key=lambda t: t.elements, default=None)
    if largest is None or not largest.shape:
        return 0.0
    if largest.format == "FRACTAL_NZ":
        return largest.elements / _BLOCK_COLUMNS
    return largest.elements / max(largest.shape[-1], 1)


def _indexed_rows(spec: KernelSpec) -> float:
    """Return how many rows are found by an index: each index names one, or one of its coordinates."""
    # The data may be whole numbers like their index.
    behind_data = spec.inputs if spec.op_type in _INDEX_FIRST else spec.inputs[1:]
    tensors = [t for t in behind_data if t.dtype in INDEX_DTYPES and t.elements]
    indices = max((t.elements for t in tensors), default=0)
    moved = max((t.elements for t in spec.outputs), default=0) or indices
    return float(min(indices, moved)) if indices else float(moved) / 256


def _runs(spec: KernelSpec) -> float:
    """Return the number of contiguous pieces that a change of layout copies."""
    if not spec.inputs or not spec.outputs:
        return 0.0
    source, result = spec.inputs[0], spec.outputs[0]
    elements = max(source.elements, result.elements)
    return elements / max(_run(source, result), 1.0)


def _run(source: TensorDesc, result: TensorDesc) -> float:
    a, b = [d for d in source.shape if d != 1], [d for d in result.shape if d != 1]
    block = max(32 / DTYPES[source.dtype].size_bytes, 1.0)
    if source.format == result.format:
        tail = 1
        while a and b and a[-1] == b[-1]:
            tail *= a.pop()
            b.pop()
        # Equal shapes say that two dims of one length changed places.
        return float(max(tail, _TURNED_RUN)) if a else float(_TURNED_RUN)
    plain = source if "C0" not in source.format and "FRACTAL" not in source.format else result
    if "FRACTAL" in source.format + result.format:
        return 16.0 * block
    if plain.format in _CHANNELS_LAST and len(plain.shape) > 2 and plain.shape[-1] == 1:
        # One channel: the same bytes as with channels first.
        return float(max(math.prod(plain.shape[1:]), _BLOCK_ROW))
    if plain.format in _CHANNELS_FIRST and len(plain.shape) > 2:
        return float(max(math.prod(plain.shape[2:]), _BLOCK_ROW))
    return float(max(plain.shape[-1] if plain.shape else 1, _BLOCK_ROW if plain.format in _CHANNELS_LAST else 1))
