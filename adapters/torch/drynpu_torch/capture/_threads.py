"""Which threads are recorded: the one that started the recording, PyTorch's own, and those that asked for it."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field

from drynpu.arrays import I64, Bools


@define
class RecordedThreads:
    """
    Filter over the events of all threads.

    ``switches`` holds ``(time_ns, thread, enabled)`` of threads that were switched on or off, in time order, and may
    grow while the recording runs.
    """

    switches: Sequence[tuple[int, int, bool]] = ()
    _others: list[threading.Thread] = field(factory=list)

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Take note of the threads of Python beside the calling one: those that live and those started meanwhile."""
        me = threading.current_thread()
        self._others = [thread for thread in threading.enumerate() if thread is not me]
        original, others = threading.Thread.start, self._others

        @functools.wraps(original)
        def start(thread: threading.Thread) -> None:
            others.append(thread)
            original(thread)

        threading.Thread.start = start  # type: ignore[assignment]
        try:
            yield
        finally:
            threading.Thread.start = original  # type: ignore[method-assign]

    def keep(self, thread: I64, time_ns: I64) -> Bools:
        """Return for events, shape ``[n]``, whether their thread was to be recorded at that time."""
        kept = np.ones(len(thread), bool)
        present = np.unique(thread)
        for other in {of.native_id for of in self._others} & set(present.tolist()):
            rows = np.flatnonzero(thread == other)
            switched = [(at, on) for at, of, on in self.switches if of == other]
            last = np.searchsorted([at for at, _ in switched], time_ns[rows], side="right")
            kept[rows] = np.array([False, *(on for _, on in switched)])[last]
        return kept
