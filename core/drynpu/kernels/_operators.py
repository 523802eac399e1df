"""
The operator table: one row per host event, columns only.

This is what an adapter hands over. Everything distinct (names, signatures, stacks) is stored once and referred
to by index, so that nothing after the capture works per operator in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import evolve, field, frozen

from drynpu.arrays import I32, I64, U8, U64, Bools
from drynpu.kernels._types import Signature, TensorDesc


def _same_length(instance: object, columns: Sequence[npt.NDArray[np.generic]]) -> None:
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of {type(instance).__name__} differ in length: {sorted(lengths)}")


_USER_SCOPE = 7
_COLUMNS = ("name", "start_ns", "end_ns", "thread", "fwd_thread", "sequence", "scope", "signature", "stack", "reported")


@frozen
class Call:
    """
    One host event made by hand, to be a row of :class:`Operators`. Times are Unix ns.

    ``call`` is an operator's signature, or the text of an annotation (``ProfilerStep#3`` is a step).
    """

    call: Signature | str
    start_ns: int
    end_ns: int
    thread: int
    scope: int | None = None
    """As in :class:`Operators`; default 0 for an operator, 7 for an annotation."""

    @property
    def name(self) -> str:
        return self.call if isinstance(self.call, str) else self.call.name

    @property
    def record_scope(self) -> int:
        """The scope, or its default."""
        if self.scope is not None:
            return self.scope
        return _USER_SCOPE if isinstance(self.call, str) else 0


@frozen(eq=False, kw_only=True)
class Operators:
    """
    Host events of one recording, sorted by ``(start_ns, -end_ns)``; every column has shape ``[n]``.

    ``signatures[signature[i]]`` is the call of row *i*; -1 marks an event without one (an annotation, a node of
    the backward graph). ``texts`` has for every signature the framework's own spelling of dtypes and shapes.
    """

    names: tuple[str, ...]
    name: I32
    start_ns: I64
    """Unix time."""
    end_ns: I64
    thread: I64
    """OS thread id."""
    fwd_thread: I64
    sequence: I64
    """Links a forward operator to its backward node; -1 none."""
    scope: U8
    """0 function, 1 backward function, 7 user annotation (torch's RecordScope)."""
    signature: I32
    signatures: tuple[Signature, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    """Per signature: input data types and input shapes, ``;`` between arguments, ``,`` between dims."""
    stack: I32 = field()
    """Index into ``stacks``; -1 none."""
    stacks: tuple[str, ...] = ()

    reported: Bools = field()
    """Whether the framework's profiler sees the operator itself. Its kernels are on the device in any case."""

    @stack.default
    def _no_stacks(self) -> I32:
        return np.full(len(self.name), -1, np.int32)

    @reported.default
    def _all_reported(self) -> Bools:
        return np.ones(len(self.name), bool)

    def __attrs_post_init__(self) -> None:
        _same_length(self, [getattr(self, name) for name in _COLUMNS])

    def __len__(self) -> int:
        return len(self.name)

    def select(self, rows: I64, **columns: npt.NDArray[np.generic]) -> Operators:
        """Return *rows* of the table, with *columns* replacing columns of the same name."""
        chosen: dict[str, Any] = {
            name: columns[name] if name in columns else getattr(self, name)[rows] for name in _COLUMNS
        }
        return evolve(self, **chosen)

    @classmethod
    def from_calls(cls, calls: Iterable[Call]) -> Operators:
        """
        Return the table of *calls*, in any order.

        For tables of modest size that are made by hand or by a test: it works call by call. An adapter that captures
        a running framework fills the columns instead.
        """
        rows = sorted(calls, key=lambda row: (row.start_ns, -row.end_ns))
        names = {name: number for number, name in enumerate(dict.fromkeys(row.name for row in rows))}
        signatures: dict[Signature, int] = {}
        for row in rows:
            if isinstance(row.call, Signature):
                signatures.setdefault(row.call, len(signatures))
        return cls(
            names=tuple(names),
            name=np.array([names[row.name] for row in rows], np.int32),
            start_ns=np.array([row.start_ns for row in rows], np.int64),
            end_ns=np.array([row.end_ns for row in rows], np.int64),
            thread=np.array([row.thread for row in rows], np.int64),
            fwd_thread=np.zeros(len(rows), np.int64),
            sequence=np.full(len(rows), -1, np.int64),
            scope=np.array([row.record_scope for row in rows], np.uint8),
            signature=np.array([-1 if isinstance(row.call, str) else signatures[row.call] for row in rows], np.int32),
            signatures=tuple(signatures),
            texts=tuple(_texts(signature) for signature in signatures),
        )


def _texts(signature: Signature) -> tuple[str, str]:
    """Return data types and shapes of the arguments; nothing for one that is no single tensor."""
    tensors = [value if isinstance(value, TensorDesc) else None for value in signature.inputs]
    return (
        ";".join("" if tensor is None else tensor.dtype for tensor in tensors),
        ";".join("" if tensor is None else ",".join(map(str, tensor.shape)) for tensor in tensors),
    )


@frozen(eq=False, kw_only=True)
class Accesses:
    """
    What operators read and wrote of the device's memory, without small tensors; every column has shape ``[n]``.

    ``block`` is the address of an allocation of ``block_bytes``, in which the tensor begins at ``offset``. An access
    lies between start and end of its operator.
    """

    time_ns: I64
    thread: I64
    block: I64
    offset: I64
    size_bytes: I64
    block_bytes: I64
    written: Bools

    def __attrs_post_init__(self) -> None:
        columns = (self.time_ns, self.thread, self.block, self.offset, self.size_bytes, self.block_bytes, self.written)
        _same_length(self, columns)

    def __len__(self) -> int:
        return len(self.time_ns)


@frozen(eq=False, kw_only=True)
class Allocations:
    """Allocator events in time order; every column has shape ``[n]``. A negative size is a release."""

    time_ns: I64
    thread: I64
    address: U64
    size_bytes: I64

    def __attrs_post_init__(self) -> None:
        _same_length(self, (self.time_ns, self.thread, self.address, self.size_bytes))

    def __len__(self) -> int:
        return len(self.time_ns)

    @classmethod
    def empty(cls) -> Allocations:
        """Return a table without rows."""
        none = np.empty(0, np.int64)
        return cls(time_ns=none, thread=none, address=np.empty(0, np.uint64), size_bytes=none)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[int, int, int, int]]) -> Allocations:
        """Return the table of rows ``(time_ns, thread, address, size_bytes)``, in any order; for tables by hand."""
        table = sorted(rows, key=lambda row: row[0])
        return cls(
            time_ns=np.array([row[0] for row in table], np.int64),
            thread=np.array([row[1] for row in table], np.int64),
            address=np.array([row[2] for row in table], np.uint64),
            size_bytes=np.array([row[3] for row in table], np.int64),
        )
