"""Ranges that a script has open where the tracer is stopped and started again."""

from __future__ import annotations

import functools
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from attrs import define, field, frozen
from torch.autograd.profiler import record_function

from drynpu.arrays import I64, Bools
from drynpu_torch.capture._patches import patched


@frozen
class RangeCut:
    """The names of the ranges that a pause divides, and an instant (Unix ns) between their parts."""

    middle_ns: int
    names: tuple[str, ...]


# N24, docs/tricks.md
@define
class OpenRanges:
    """
    The ``record_function`` ranges that were entered during a recording and have not ended.

    A range that ends after its tracer has stopped writes into memory that the tracer has given back. So ranges of the
    calling thread are ended before a stop; ranges of other threads cannot be, and while there are any the tracer must
    go on.
    """

    cuts: list[RangeCut] = field(factory=list)
    _open: dict[int, tuple[int, Any]] = field(factory=dict)
    _enter: Any = record_function.__enter__
    _exit: Any = record_function.__exit__

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Follow the ranges of all threads."""
        opened, original_enter, original_exit = self._open, record_function.__enter__, record_function.__exit__
        self._enter, self._exit = original_enter, original_exit

        @functools.wraps(original_enter)
        def enter(entered: Any) -> Any:
            result = original_enter(entered)  # type: ignore[no-untyped-call]
            opened[id(entered)] = threading.get_ident(), entered
            return result

        @functools.wraps(original_exit)
        def leave(entered: Any, *error: Any) -> None:
            opened.pop(id(entered), None)
            original_exit(entered, *error)

        with patched(record_function, "__enter__", enter), patched(record_function, "__exit__", leave):
            yield

    @property
    def elsewhere(self) -> bool:
        """Whether another thread is inside a range."""
        caller = threading.get_ident()
        return any(thread != caller for thread, _ in list(self._open.values()))

    def end(self) -> list[Any]:
        """End the open ranges of this thread, the innermost first; return them, the outermost first."""
        caller = threading.get_ident()
        mine = [entered for thread, entered in list(self._open.values()) if thread == caller]
        for entered in reversed(mine):
            self._exit(entered, None, None, None)
        return mine

    def resume(self, ended: list[Any], middle_ns: int) -> None:
        """Enter ranges again that :meth:`end` has ended; *middle_ns* (Unix ns) lies between the two."""
        for entered in ended:
            self._enter(entered)
        if ended:
            self.cuts.append(RangeCut(middle_ns, tuple(entered.name for entered in ended)))


def joined_ranges(cuts: Sequence[RangeCut], names: Sequence[str], name: I64, start: I64, end: I64) -> tuple[I64, Bools]:
    """
    Put the parts of ranges together that a pause has divided.

    The columns, shape ``[n]``, belong to the ranges of one thread, sorted by start; *name* is an index into *names*.

    Returns
    -------
    end_ns, kept:
        Shape ``[n]``: ends, for a first part the end of its range; whether a row stays, which a later part does not.
    """
    first, kept = np.arange(len(end)), np.ones(len(end), bool)
    for cut in cuts:
        for text, count in Counter(cut.names).items():
            rows = np.flatnonzero(name == names.index(text)) if text in names else np.empty(0, np.int64)
            before, after = rows[start[rows] < cut.middle_ns], rows[start[rows] >= cut.middle_ns][:count]
            before = np.sort(before[np.argsort(end[before], kind="stable")][-count:])
            if len(before) == len(after) == count:
                first[after], kept[after] = first[before], False
    whole = end.copy()
    for row in np.flatnonzero(~kept).tolist():  # sorted by start: the last part of a range comes last
        whole[first[row]] = end[row]
    return whole, kept
