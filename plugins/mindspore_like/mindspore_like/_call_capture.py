"""The operators that a script reports, as columns (the capture of a process without MindSpore)."""

from __future__ import annotations

import contextlib
import threading
from array import array
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np
from attrs import define, field, frozen

from drynpu import CaptureError
from drynpu.arrays import I64
from drynpu.kernels import Operators, Signature, TensorDesc
from drynpu.kernels.ops import ge_dtype
from drynpu_mindspore.capture import CapturedMindSpore, CapturedPart, CaptureOptions, input_texts, is_backward
from drynpu_mindspore.rules import signature

TensorKey = tuple[tuple[int, ...], "np.dtype[Any]"]
"""Shape and data type."""
Reported = tuple[
    str, tuple["TensorKey | None", ...], tuple[TensorKey, ...], tuple[tuple[str, object], ...], tuple[object, ...]
]
"""One call: primitive, inputs, outputs, attributes by name, values of arguments that are no tensors by position."""

_COLUMNS = 4
_FUNCTION, _BACKWARD_FUNCTION = 0, 1


@frozen
class _NoGraphs:
    """There are no graphs to be collected; what a backend asks of them."""

    def begin(self) -> None:
        """Do nothing."""


@define(eq=False)
class CallCapture:
    """
    Collects operators while it runs; see ``recording.Capturing``.

    Reporting one costs a look-up of what was called and four numbers appended; the table is made when it stops.
    """

    graphs: _NoGraphs = field(factory=_NoGraphs)
    _rows: array[int] | None = None
    _calls: dict[tuple[str, Reported], int] = field(factory=dict)
    _lock: threading.Lock = field(factory=threading.Lock)
    _scope: ContextVar[str] = field(factory=lambda: ContextVar("scope", default=""))

    @property
    def running(self) -> bool:
        """Whether what is reported now is kept."""
        return self._rows is not None

    def start(self, options: CaptureOptions | None = None) -> None:  # noqa: ARG002 there is nothing to record beside
        """
        Keep what is reported from now on. Raises `CaptureError` when it does already.

        Operators are all there is: data pipelines are plain Python here, and there is no runtime below the script.
        """
        if self._rows is not None:
            raise CaptureError("operators are being recorded already; stop before another start")
        self._rows = array("q")

    def add(self, call: Reported, start_ns: int, end_ns: int) -> None:
        """Report a call with its begin and end, Unix ns."""
        rows = self._rows
        if rows is None:
            return
        key = (self._scope.get(), call)
        number = self._calls.get(key)
        if number is None:
            with self._lock:
                number = self._calls.setdefault(key, len(self._calls))
        rows.extend((number, start_ns, end_ns, threading.get_native_id()))

    @contextlib.contextmanager
    def scope(self, path: str) -> Iterator[None]:
        """Put *path* in front of the names of what is reported inside, ``/`` between it and scopes around it."""
        outer = self._scope.get()
        token = self._scope.set(f"{outer}/{path}" if outer else path)
        try:
            yield
        finally:
            self._scope.reset(token)

    def cut(self) -> CapturedPart:
        """End a part, keep on, and return the part. Raises `CaptureError` without a start."""
        return self._end(array("q"))

    def stop(self) -> CapturedMindSpore:
        """
        Keep no more, and return what was reported since the start or the last cut.

        Raises
        ------
        CaptureError
            There was no start.
        """
        return self._end(None).read()

    def _end(self, following: array[int] | None) -> CapturedPart:
        rows, self._rows = self._rows, following
        if rows is None:
            self._rows = None
            raise CaptureError("no operators are being recorded; start before stop")
        # A copy: another thread may still add to the array.
        table = np.array(rows, np.int64).reshape(-1, _COLUMNS)
        with self._lock:
            calls = list(self._calls)
        return CapturedPart(lambda: CapturedMindSpore(operators=_operators(table, calls)))


def _operators(rows: I64, calls: list[tuple[str, Reported]]) -> Operators:
    """Return rows of (number of the call, start, end, thread) as a table; a row takes at least 1 ns."""
    start, end = rows[:, 1], np.maximum(rows[:, 2], rows[:, 1] + 1)
    order = np.lexsort((-end, start))
    used, index = np.unique(rows[order, 0], return_inverse=True)
    known = [calls[number] for number in used.tolist()]
    signatures = tuple(_signature(call) for _, call in known)
    names = tuple(f"{scope}/{call[0]}" if scope else call[0] for scope, call in known)
    backward = np.array([is_backward(name) for name in names] or [False])
    row = index.reshape(-1).astype(np.int32)
    # Calls that differ in their tensors alone share a name.
    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    name = np.array([distinct[each] for each in names] or [0], np.int32)[row]
    return Operators(
        names=tuple(distinct),
        name=name,
        start_ns=start[order],
        end_ns=end[order],
        thread=rows[order, 3],
        fwd_thread=np.zeros(len(row), np.int64),
        sequence=np.full(len(row), -1, np.int64),
        scope=np.where(backward[row] if len(known) else row, _BACKWARD_FUNCTION, _FUNCTION).astype(np.uint8),
        signature=row,
        signatures=signatures,
        texts=tuple(input_texts(each) for each in signatures),
    )


def _signature(call: Reported) -> Signature:
    primitive, inputs, outputs, attrs, arguments = call
    tensors = [None if each is None else _tensor(each) for each in inputs]
    results = [_tensor(each) for each in outputs] if outputs else None
    return signature(primitive, tensors, results, dict(attrs), arguments)


def _tensor(key: TensorKey) -> TensorDesc:
    shape, dtype = key
    return TensorDesc(shape, ge_dtype(dtype.name))
