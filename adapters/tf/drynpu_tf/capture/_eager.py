"""
Route D: operators that a script runs one by one (tf_adapters.md 6).

A callback of TensorFlow's sees each of them with tensors and attributes when it has ended; when it began and ended is
read off the trace. Without a trace an operator counts from the end of the one before it on its thread.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np
from attrs import define, field

from drynpu.arrays import I32, I64
from drynpu.kernels import Operators, Signature, TensorDesc, node_signature
from drynpu.recorder import OptionalParts
from drynpu_tf.capture._planes import Kind, Planes
from drynpu_tf.foreign import Graph, Tensor
from drynpu_tf.rules import dtype_name, tensor_desc

_Tensors = tuple[tuple[tuple[int, ...], int], ...]
_Call = tuple[str, _Tensors, tuple[object, ...], _Tensors]
"""Type, inputs, attributes (name, value, ...), outputs."""

_TYPES = frozenset({"T", "DstT", "SrcT", "Tidx", "Tindices", "Tmultiples", "Tshape", "dtype", "index_type", "out_type"})
_LABELS = frozenset({"container", "debug_name", "shared_name"})


# N26, docs/tricks.md
@define
class EagerOperators:
    """
    The operators that threads ran eagerly since the last :meth:`take`.

    TensorFlow's callbacks belong to a thread, so that :meth:`listen` is called on every thread that is to be recorded.
    """

    parts: OptionalParts = field(factory=OptionalParts)
    _numbers: defaultdict[_Call, int] = field(factory=lambda: defaultdict(count().__next__))
    _events: list[tuple[int, int, int]] = field(factory=list)
    _signatures: list[Signature] = field(factory=list)

    def listen(self) -> None:
        """Record operators of the calling thread; nothing happens the second time."""
        from drynpu_tf.inside import context, op_callbacks

        if self._ran not in context.context().op_callbacks:
            op_callbacks.add_op_callback(self._ran)

    def leave(self) -> None:
        """Stop recording operators of the calling thread."""
        from drynpu_tf.inside import context, op_callbacks

        if self._ran in context.context().op_callbacks:
            op_callbacks.remove_op_callback(self._ran)

    def _ran(
        self,
        op_type: str | bytes,
        inputs: Sequence[Tensor],
        attrs: Sequence[object] | None,
        outputs: Sequence[Tensor],
        op_name: str | None = None,
        graph: Graph = None,
    ) -> None:
        del op_name
        # Names of functions come as bytes; functions are recorded node by node, by the trace.
        kind = op_type.decode() if isinstance(op_type, bytes) else op_type
        if graph is not None or _is_function(kind):  # with a graph: a node that is being made, not one that ran
            return
        self.parts.gather("some operators", lambda: self._note(kind, inputs, attrs or (), outputs), None)

    def _note(self, kind: str, inputs: Sequence[Tensor], attrs: Sequence[object], outputs: Sequence[Tensor]) -> None:
        call = (kind, tuple(map(_tensor, inputs)), _plain(attrs), tuple(map(_tensor, outputs)))
        self._events.append((self._numbers[call], time.time_ns(), threading.get_native_id()))

    def take(self, planes: Planes | None, threads: dict[int, int]) -> Operators | None:
        """Return the operators since the last call, with the times of *planes*; ``None`` if there are none."""
        events, self._events = self._events, []
        if not events:
            return None
        self._complete()
        call, ended, thread = np.array(events, np.int64).T
        calls = list(self._numbers)
        names = tuple(dict.fromkeys(kind for kind, *_ in calls))
        name_of_call = np.array([names.index(kind) for kind, *_ in calls], np.int32)
        start, end = _since_last(ended, thread)
        if planes is not None:
            start, end = _traced(planes, threads, names, name_of_call[call], thread, start, end)
        order = np.lexsort((-end, start))
        return Operators(
            names=names,
            name=name_of_call[call[order]],
            start_ns=start[order],
            end_ns=end[order],
            thread=thread[order],
            fwd_thread=np.zeros(len(order), np.int64),
            sequence=np.full(len(order), -1, np.int64),
            scope=np.zeros(len(order), np.uint8),
            signature=call[order].astype(np.int32),
            signatures=tuple(self._signatures),
        )

    def _complete(self) -> None:
        for op_type, inputs, attrs, outputs in list(self._numbers)[len(self._signatures) :]:
            named = {str(name): value for name, value in zip(attrs[::2], attrs[1::2], strict=True)}
            described = tuple(map(_described, inputs)), tuple(map(_described, outputs))
            self._signatures.append(node_signature(op_type, *described, named))


def _tensor(tensor: Tensor) -> tuple[tuple[int, ...], int]:
    shape = tensor.shape
    return (tuple(shape) if shape.rank is not None else (), tensor.dtype.as_datatype_enum)


def _described(tensor: tuple[tuple[int, ...], int]) -> TensorDesc:
    dims, number = tensor
    return tensor_desc(dims, dtype_name(number))


def _plain(attrs: Sequence[Any]) -> tuple[object, ...]:
    """Return attributes as hashable values, types by name, without labels: those make no difference to a kernel."""
    plain: list[object] = []
    for name, value in zip(attrs[::2], attrs[1::2], strict=True):
        if name not in _LABELS:
            plain += [name, _plain_value(name, value)]
    return tuple(plain)


def _plain_value(name: str, value: object) -> object:
    number = getattr(value, "as_datatype_enum", value)
    if isinstance(number, int) and (number is not value or name in _TYPES):
        return dtype_name(number)
    if isinstance(value, (list, tuple)):
        return tuple(_plain_value("", item) for item in value)
    return value if isinstance(value, (bool, int, float, str, bytes)) else str(value)


def _is_function(op_type: str) -> bool:
    return op_type.startswith("__") or op_type in {"PartitionedCall", "StatefulPartitionedCall"}


def _since_last(ended: I64, thread: I64) -> tuple[I64, I64]:
    """Return start and end of operators that follow one another; the first of a thread takes no time."""
    start = ended.copy()
    for number in np.unique(thread).tolist():
        rows = np.flatnonzero(thread == number)
        start[rows[1:]] = ended[rows[:-1]]
    return start, ended


def _traced(
    planes: Planes,
    threads: dict[int, int],
    names: Sequence[str],
    name: I32,
    thread: I64,
    start: I64,
    end: I64,
) -> tuple[I64, I64]:
    """
    Return the times that the trace has for operators.

    Each is the last call of its type that had ended on its thread when the callback came; one that is not in the
    trace keeps its times.
    """
    start, end = start.copy(), end.copy()
    rows = planes.rows(Kind.EAGER)
    traced_thread = np.array([threads.get(int(number), -1) for number in planes.thread[rows]], np.int64)
    numbers = {text: number for number, text in enumerate(planes.texts)}
    for position in np.unique(name).tolist():
        traced = planes.text[rows] == numbers.get(names[position], -1)
        for caller in np.unique(thread[name == position]).tolist():
            heard = np.flatnonzero((name == position) & (thread == caller))
            calls_traced = rows[traced & (traced_thread == caller)]
            calls_traced = calls_traced[np.argsort(planes.end_ns[calls_traced])]
            row = np.searchsorted(planes.end_ns[calls_traced], end[heard], side="right") - 1
            known = row >= 0
            start[heard[known]] = planes.start_ns[calls_traced[row[known]]]
            end[heard[known]] = planes.end_ns[calls_traced[row[known]]]
    return start, end
