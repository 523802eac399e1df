"""Marks and ranges that the script sets with ``torch.npu.mstx`` while a recording has marks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Iterator

import attrs
import torch
from attrs import define, field
from torch.autograd.profiler import record_function

from drynpu.simulate import DEFAULT_STREAM, Mark, MarkKind


class _Stacks(threading.local):
    """Ids of the pushed ranges by domain, for each thread."""

    def __init__(self) -> None:
        self.ids: defaultdict[str, list[int]] = defaultdict(list)


@define(eq=False)
class ScriptMarks:
    """
    The marks of one recording, in the order in which they ended (torch_npu_profiler.md 1.10).

    A range is kept when it ends; a range that is open when the recording stops leaves nothing, as with the vendor. A
    mark with a stream shows as an operator ``mstx_*_op`` on the host as well, because the vendor puts it on its task
    queue.

    Attributes
    ----------
    range_ids:
        The source of range ids; ids go on over all recordings of the process.
    include, exclude:
        The only domains to record, and domains not to record; empty for no such limit.
    """

    range_ids: Iterator[int]
    include: Collection[str] = ()
    exclude: Collection[str] = ()
    marks: list[Mark] = field(factory=list)
    _open: dict[int, Mark] = field(factory=dict)
    _stacks: _Stacks = field(factory=_Stacks)

    def mark(self, message: str, stream: torch.Stream | None, domain: str) -> None:
        """Keep an instant."""
        if self._records(domain):
            with _operator("mark", stream is not None):
                self.marks.append(_new(MarkKind.POINT, message, stream, domain))

    def start(self, message: str, stream: torch.Stream | None, domain: str) -> int:
        """Begin a range and return its id, 0 for a domain that is not recorded."""
        return self._start("range_start", message, stream, domain) if self._records(domain) else 0

    def end(self, range_id: int, domain: str) -> None:
        """End a range, on whichever thread; ids that are not open are ignored."""
        if range_id and self._records(domain):
            self._end("range_end", range_id)

    def push(self, message: str, stream: torch.Stream | None, domain: str) -> int:
        """Begin a range inside the ranges of this thread and domain; return how many there were, -1 if not recorded."""
        if not self._records(domain):
            return -1
        stack = self._stacks.ids[domain]
        stack.append(self._start("range_push", message, stream, domain))
        return len(stack) - 1

    def pop(self, domain: str) -> int:
        """End the innermost range of this thread and domain; return how many are left, -1 if there was none."""
        stack = self._stacks.ids[domain]
        if not stack or not self._records(domain):
            return -1
        self._end("range_pop", stack.pop())
        return len(stack)

    def _records(self, domain: str) -> bool:
        return domain in self.include if self.include else domain not in self.exclude

    def _start(self, call: str, message: str, stream: torch.Stream | None, domain: str) -> int:
        number = next(self.range_ids)
        with _operator(call, stream is not None):
            # The vendor pushes by starting, so that both are of this kind in the records.
            self._open[number] = _new(MarkKind.START_END, message, stream, domain)
        return number

    def _end(self, call: str, range_id: int) -> None:
        mark = self._open.pop(range_id, None)
        if mark is None:
            return
        with _operator(call, mark.stream is not None):
            thread = threading.get_native_id()
            self.marks.append(attrs.evolve(mark, end_ns=time.time_ns(), end_thread=thread))


def _new(kind: MarkKind, message: str, stream: torch.Stream | None, domain: str) -> Mark:
    now_ns = time.time_ns()
    return Mark(
        kind=kind,
        message=message,
        start_ns=now_ns,
        end_ns=now_ns,
        thread=threading.get_native_id(),
        domain=domain,
        stream=None if stream is None else DEFAULT_STREAM + stream.stream_id,
        extended=True,
    )


def _operator(call: str, on_stream: bool) -> contextlib.AbstractContextManager[object]:
    return record_function(f"mstx_{call}_op") if on_stream else contextlib.nullcontext()
