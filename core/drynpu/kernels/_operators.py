"""
The operator table: one row per host event, columns only.

This is what an adapter hands over. Everything distinct (names, signatures, stacks) is stored once and referred
to by index, so that nothing after the capture works per operator in Python.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.kernels._types import Signature

__all__ = ["Allocations", "Operators"]

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


def _same_length(instance: object, columns: Sequence[npt.NDArray[np.generic]]) -> None:
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"columns of {type(instance).__name__} differ in length: {sorted(lengths)}")


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
    scope: npt.NDArray[np.uint8]
    """0 function, 1 backward function, 7 user annotation (torch's RecordScope)."""
    signature: I32
    signatures: tuple[Signature, ...] = ()
    texts: tuple[tuple[str, str], ...] = ()
    """Per signature: input data types and input shapes, ``;`` between arguments, ``,`` between dims."""
    stack: I32 = field()
    """Index into ``stacks``; -1 none."""
    stacks: tuple[str, ...] = ()

    @stack.default
    def _no_stacks(self) -> I32:
        return np.full(len(self.name), -1, np.int32)

    def __attrs_post_init__(self) -> None:
        _same_length(
            self,
            (
                self.name,
                self.start_ns,
                self.end_ns,
                self.thread,
                self.fwd_thread,
                self.sequence,
                self.scope,
                self.signature,
                self.stack,
            ),
        )

    def __len__(self) -> int:
        return len(self.name)


@frozen(eq=False, kw_only=True)
class Allocations:
    """Allocator events in time order; every column has shape ``[n]``. A negative size is a release."""

    time_ns: I64
    thread: I64
    address: npt.NDArray[np.uint64]
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
