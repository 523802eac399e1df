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
    if split and spec.op_type in _ROW_BY_ROW:
        return _ROW_BY_ROW_NS * min((t.elements // (t.shape[-2] * t.shape[-1]) for t in _images(spec)), default=0)
    if spec.op_type in _ELEMENT_BY_ELEMENT:
        return max((t.elements for t in spec.outputs), default=0) * _ELEMENT_NS
    if family in {"gather", "scatter"}:
        return _indexed_rows(spec) * (_row_ns(spec) if split else _ROW_NS_UNIFIED)
    if family == "layout":
        return _runs_ns(spec, split=split)
    if family in _BY_ROWS:
        rows = _rows(spec)
        if not split or not rows or spec.op_type not in _WELFORD:
            return rows * _NORMALISED_ROW_NS
        return rows * _WELFORD_ROW_NS + max(t.elements for t in spec.inputs) * _WELFORD_NS
    if split:
        return 0.0 if spec.static else _repeated_elements(spec) * _REPEATED_NS
    return 0.0


_ROW_BY_ROW: Final = frozenset({"MaxPoolWithArgmaxV1", "MaxPoolGradWithArgmaxV1"})
"""Kernels that compare every place of the window for each row of the smaller image."""
_ROW_BY_ROW_NS: Final = 1200.0
"""512 x 6 rows of 6 in 80 us of 48 cores, 384 x 13 in 157; backwards 110 and 101, and 128 x 27 in 102."""


def _images(spec: KernelSpec) -> list[TensorDesc]:
    """Return the images of a pooling in blocks of channels, without the mask."""
    tensors = (*spec.inputs, *spec.outputs)
    return [t for t in tensors if len(t.shape) == 5 and t.dtype != "UINT16" and t.elements]


_ELEMENT_BY_ELEMENT: Final = frozenset({"MaskedScatter"})
"""Kernels that must know how many elements were taken before each one."""
_ELEMENT_NS: Final = 32.5
"""3.3 million elements of a MaskedScatter take 2.2 ms on 48 cores."""
_REPEATED_NS: Final = 0.12
"""
A product of 5040 x 1024 and 5040 x 1 takes 28 us called alone, the bytes 13: what is repeated along a row is laid out
first. In a static graph it is read in place.
"""
_LINE_BYTES: Final = 32
"""A core copies whole lines of this."""


def repeated_operands(spec: KernelSpec) -> tuple[TensorDesc, ...]:
    """
    Return the operands that a kernel repeats along inner dims of its result.

    An operand that is one row, repeated for all others, stays where it is; so does a single number.
    """
    if (family_of(spec.op_type).name != "elementwise" and spec.op_type != "BroadcastTo") or not spec.outputs:
        return ()
    result = max(spec.outputs, key=lambda t: t.elements)
    return tuple(t for t in spec.inputs if 1 < t.elements < result.elements and _is_repeated_inside(t, result))


def _repeated_elements(spec: KernelSpec) -> float:
    """Return the elements of an element-wise result that come from repeated operands."""
    repeated = repeated_operands(spec) if family_of(spec.op_type).name == "elementwise" else ()
    wide = max((DTYPES[t.dtype].size_bytes // 4 for t in repeated), default=0)
    return float(max((t.elements for t in spec.outputs), default=0) * len(repeated) * max(wide, 1))


def _is_repeated_inside(operand: TensorDesc, result: TensorDesc) -> bool:
    shape = (1,) * (len(result.shape) - len(operand.shape)) + operand.shape
    dims = [(one, other) for one, other in zip(shape, result.shape, strict=False) if other > 1]
    if len(shape) != len(result.shape) or all(one == 1 for one, _ in dims):
        return False
    # One row for all others stays where it is.
    lacking = [one == 1 for one, _ in dims]
    return any(lacking[lacking.index(False) :])


def has_short_rows(spec: KernelSpec) -> bool:
    """Return whether a kernel takes rows apart at places that are no whole lines."""
    if not spec.op_type.lower().startswith(_HALVING) or not spec.inputs or not spec.inputs[0].shape:
        return False
    rows = spec.inputs[0]
    return rows.shape[-1] // 2 * DTYPES[rows.dtype].size_bytes % _LINE_BYTES != 0


_HALVING: Final = ("swiglu", "geglu", "glu")
"""Kernels that multiply one half of each row by the other."""


def _row_ns(spec: KernelSpec) -> float:
    """
    Return what a core waits for a row that an index names.

    From a table in memory it comes at 0.2 TB/s (13 MB of rows of 5 KB in 61 us, 8 MB of rows of 2 KB in 42 us); from
    one that L2 holds rows follow each other (20160 rows in 34 us).
    """
    if family_of(spec.op_type).name != "gather" or not spec.op_type.startswith("Gather") or not spec.inputs:
        return _ROW_NS
    table = max(spec.inputs, key=lambda t: t.size_bytes)
    row = spec.bytes_written / max(_indexed_rows(spec), 1.0)
    if table.size_bytes > _RESIDENT_BYTES:
        return max(_ROW_NS, row * _ROW_NS_PER_BYTE)
    return min(_ROW_NS, max(_RESIDENT_ROW_NS, row * _RESIDENT_NS_PER_BYTE))


_RESIDENT_BYTES: Final = 64 * 1024**2
"""A table that L2 holds beside what else a step touches."""
_ROW_NS_PER_BYTE: Final = 0.25
_RESIDENT_ROW_NS: Final = 20.0
_RESIDENT_NS_PER_BYTE: Final = 0.033


def chain_ns(spec: KernelSpec) -> float:
    """Return the time of steps that follow each other whatever the number of cores: sums over outer axes, and joins."""
    family = family_of(spec.op_type).name
    if (family != "reduce" and family not in _BY_ROWS) or not spec.inputs or not spec.inputs[0].shape:
        return 0.0
    elements = spec.inputs[0].elements
    if family != "reduce":
        return min(elements, _CHAIN) * (_FUSED_STEP_NS if "Add" in spec.op_type else _STEP_NS) + _set_up_ns(spec)
    results = max((t.elements for t in spec.outputs), default=1)
    chain = min(elements, _CHAIN) * _STEP_NS
    shape = spec.inputs[0].shape
    outer = len(shape) > 1 and shape[-1] > 1 and bool(spec.outputs) and spec.outputs[0].shape[-1:] == shape[-1:]
    return chain + (min(elements / max(results, 1), _CHAIN) * _OUTER_STEP_NS if outer else 0.0)


_BY_ROWS: Final = frozenset({"norm", "norm_grad", "softmax", "softmax_grad", "quant"})
_NORMALISED_ROW_NS: Final = 15.0
_WELFORD: Final = frozenset({"LayerNormV3"})
"""Kernels that update mean and variance element by element, and join the lanes of each row."""
_WELFORD_ROW_NS: Final = 300.0
_WELFORD_NS: Final = 0.25
"""5040 rows of 1024 take 67 to 82 us of 48 cores, 1260 rows of 4096 60 us, 4096 rows of 12288 320 us."""
_CHAIN: Final = 32
_STEP_NS: Final = 60.0
_OUTER_STEP_NS: Final = 250.0
"""A sum over 32 outer rows takes 10 us more than one over as many elements of a row, whatever their length."""
_FUSED_STEP_NS: Final = 20.0
"""Norms that add before (InplaceAddRmsNorm) have 4 rows of 1024 after 1.4 us of a core."""
_BLOCK_COLUMNS: Final = 1024


def _set_up_ns(spec: KernelSpec) -> float:
    """Return what a kernel computes before its first row: the scalar unit of RmsNorm works for 2.5 us on 4 rows."""
    return _RMS_SET_UP_NS if spec.op_type == "RmsNorm" else 0.0


_RMS_SET_UP_NS: Final = 2500.0


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


def _runs_ns(spec: KernelSpec, *, split: bool) -> float:
    """Return what a change of layout takes for the contiguous pieces that it copies."""
    if not spec.inputs or not spec.outputs:
        return 0.0
    source, result = spec.inputs[0], spec.outputs[0]
    elements, run = max(source.elements, result.elements), max(_run(source, result), 1.0)
    keeps_rows = source.shape[-1:] == result.shape[-1:] and source.format == result.format
    return elements / run * (_STATIC_RUN_NS if split and spec.static and keeps_rows else _RUN_NS)


_STATIC_RUN_NS: Final = 4.0
"""
80 640 runs of 128 bytes change places in 12 us in a static graph, hardly longer than their bytes take, and in 27 us
called alone; 40 768 runs of 256 bytes in 14 and 37 us.
"""
_TURNED_EDGE: Final = 16
_TURNED_SQUARE: Final = 64
"""A square of 16 x 16 numbers of 16 bits is turned in the time of four runs: 1152 x 3840 take 29 us."""


def _run(source: TensorDesc, result: TensorDesc) -> float:
    a, b = [d for d in source.shape if d != 1], [d for d in result.shape if d != 1]
    block = max(32 / DTYPES[source.dtype].size_bytes, 1.0)
    if source.format == result.format:
        tail = 1
        while a and b and a[-1] == b[-1]:
            tail *= a.pop()
            b.pop()
        if not a:
            # Equal shapes say that two dims of one length changed places; without such dims nothing did.
            dims = [d for d in source.shape if d != 1]
            return float(_TURNED_RUN if len(set(dims)) < len(dims) else max(source.elements, 1))
        edges = (a[-1], b[-1]) if b and DTYPES[source.dtype].size_bytes == 2 else ()
        filled = math.prod(edge / (-(-edge // _TURNED_EDGE) * _TURNED_EDGE) for edge in edges) if edges else 0.0
        return max(float(tail), float(_TURNED_RUN), _TURNED_SQUARE * filled)
    plain = source if "C0" not in source.format and "FRACTAL" not in source.format else result
    if plain.format in _CHANNELS_FIRST and len(plain.shape) > 2 and math.prod(plain.shape[2:]) == 1:
        return float(max(source.elements, result.elements))  # one position: the channels follow each other already
    if "FRACTAL" in source.format + result.format:
        return 16.0 * block
    if plain.format in _CHANNELS_LAST and len(plain.shape) > 2 and plain.shape[-1] == 1:
        # One channel: the same bytes as with channels first.
        return float(max(math.prod(plain.shape[1:]), _BLOCK_ROW))
    if plain.format in _CHANNELS_FIRST and len(plain.shape) > 2:
        return float(max(math.prod(plain.shape[2:]), _BLOCK_ROW))
    return float(max(plain.shape[-1] if plain.shape else 1, _BLOCK_ROW if plain.format in _CHANNELS_LAST else 1))
