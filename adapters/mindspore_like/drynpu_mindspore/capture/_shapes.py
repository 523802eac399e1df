"""
The inputs of operators that belong to no compiled graph, as MindSpore reports them itself.

``mindspore.record_shapes`` has a record for each call: name, shapes and types of the tensors among the inputs
(mindspore_profiler.md 11). A record has no time, so calls and launches are joined by name and order.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I32, I64
from drynpu.kernels import NO_DATA, Signature, TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu.layouts import framework_mindspore as facts
from drynpu.layouts.framework_mindspore import MsShapesField
from drynpu.raw import read_tlv
from drynpu_mindspore.capture._forward import result_of
from drynpu_mindspore.rules import signature

_CALLED = {
    "ReduceSum": "SumExt",
    "ReduceMean": "MeanExt",
    "ReduceProd": "ProdExt",
    "ReduceMax": "Max",
    "ReduceMin": "Min",
}
"""Primitive that the CPU launches -> the operator that was called, where that is another one."""


@frozen(eq=False)
class ReportedCalls:
    """
    Calls in the order in which operators reported them.

    ``name[i]`` and ``inputs[i]`` are what call ``index[j] == i`` was; calls of equal name and inputs share one entry.
    """

    names: tuple[str, ...] = ()
    inputs: tuple[tuple[TensorDesc, ...], ...] = ()
    index: I64 = field(factory=lambda: np.empty(0, np.int64))


def read_calls(path: Path) -> ReportedCalls:
    """Return the calls in a file ``mindspore.record_shapes``; none where it is not there."""
    if not path.is_file():
        return ReportedCalls()
    content = read_tlv(path, facts.MS_RECORD_SHAPES)
    names = tuple(texts.get(MsShapesField.NAME, "") for texts in content.texts)
    return ReportedCalls(names, tuple(_tensors(texts) for texts in content.texts), content.text_index)


def _tensors(texts: dict[int, str]) -> tuple[TensorDesc, ...]:
    types = texts.get(MsShapesField.INPUT_TYPES, "")
    if not types:
        return ()
    shapes = texts.get(MsShapesField.INPUT_SHAPES, "").split(";")
    dims = [tuple(int(dim) for dim in shape.split(",") if dim) for shape in shapes]
    dtypes = [ge_dtype(name) for name in types.split(";")]
    return tuple(map(TensorDesc, dims, dtypes)) if len(dims) == len(dtypes) else ()


def join_calls(kinds: Sequence[str], codes: I32, calls: ReportedCalls) -> tuple[tuple[Signature, ...], I32]:
    """
    Return the calls of launches: distinct ones, and the index of each launch's (-1: not known), int32 ``[n]``.

    Parameters
    ----------
    kinds, codes:
        The primitive of each launch that belongs to no graph is ``kinds[codes[i]]``; -1 for other launches.

    The k-th report of a name belongs to the k-th launch of that primitive. Where there are more of one than of the
    other nothing is said.
    """
    launch_call = np.full(len(codes), -1, np.int32)
    distinct: dict[Signature, int] = {}
    reported = np.array(calls.names, object)[calls.index] if len(calls.index) else np.empty(0, object)
    for code, kind in enumerate(kinds):
        launches = np.flatnonzero(codes == code)
        for name in (kind, _CALLED.get(kind)):
            reports = calls.index[reported == name]
            if len(launches) and len(reports) == len(launches):
                entries, place = np.unique(reports, return_inverse=True)
                numbers = [_number(kind, calls.inputs[entry], distinct) for entry in entries.tolist()]
                launch_call[launches] = np.array(numbers, np.int32)[place]
                break
    return tuple(distinct), launch_call


def _number(kind: str, inputs: tuple[TensorDesc, ...], distinct: dict[Signature, int]) -> int:
    if not inputs or any(tensor.dtype == NO_DATA for tensor in inputs):
        return -1
    result = result_of(kind, inputs, ())
    call = signature(kind, inputs, None if result is None else (result,))
    return distinct.setdefault(call, len(distinct))
