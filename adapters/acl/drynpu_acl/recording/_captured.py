"""What a recording keeps while it runs: lists that threads append to without a lock."""

from __future__ import annotations

from typing import TypeAlias

from attrs import define, field, frozen

from drynpu.kernels import Operators
from drynpu.session import TxKind

__all__ = ["Captured", "Copy", "Marks", "Run"]

Marks: TypeAlias = "list[tuple[TxKind, str, int, int, int, int | None]]"
"""User marks ``(kind, message, start_ns, end_ns, thread, stream)``; stream None: of the host alone."""


@frozen(eq=False)
class Run:
    """One run of a model, as `drynpu_acl.runtime.Listener` is told of it; times are Unix ns."""

    model_id: int
    model_name: str
    stream: int
    operators: Operators
    start_ns: int
    end_ns: int


@frozen
class Copy:
    """A copy between host and device; ``kind`` is the vendor's (1 to the device, 2 back, 3 within it)."""

    kind: int
    size_bytes: int
    start_ns: int
    end_ns: int
    thread: int


@define(eq=False)
class Captured:
    """
    What came in so far.

    ``calls`` are rows of `drynpu.session.AclCalls`; ``steps`` are iterations told by the script, rows
    ``(number, start_ns, end_ns, thread)``. Appending to a list is one operation of the interpreter, so that many
    threads lose nothing.
    """

    runs: list[Run] = field(factory=list)
    copies: list[Copy] = field(factory=list)
    calls: list[tuple[str, int, int, int]] = field(factory=list)
    marks: Marks = field(factory=list)
    steps: list[tuple[int, int, int, int]] = field(factory=list)
