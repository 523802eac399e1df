"""The threads that are recorded: that which started the recording, PyTorch's, and those that were switched on."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Sequence

import numpy as np
from attrs import define, field

from drynpu.arrays import I64, Bools
from drynpu_torch.capture._patches import patched


@define
class RecordedThreads:
    """
    Filter of events by the thread that they ran on.

    ``switches`` holds ``(time_ns, thread, enabled)`` of threads that were switched on or off, in time order. It may
    grow while the recording runs.
    """

    switches: Sequence[tuple[int, int, bool]] = ()
    _others: list[threading.Thread] = field(factory=list)
    _seen: list[threading.Thread] = field(factory=list)

    @property
    def busy(self) -> bool:
        """Whether a thread of Python that ran operators in the last stretch still lives: it may be in one."""
        return any(thread.is_alive() for thread in self._seen)

    def note_operators(self, thread: I64) -> None:
        """Note the threads that ran operators in this stretch. Frames alone say nothing: all of Python has them."""
        present = set(np.unique(thread).tolist())
        self._seen = [other for other in self._others if other.native_id in present]

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """Collect the threads of Python beside the calling one: those alive now and those started meanwhile."""
        caller = threading.current_thread()
        self._others = [thread for thread in threading.enumerate() if thread is not caller]
        original, others = threading.Thread.start, self._others

        @functools.wraps(original)
        def start(thread: threading.Thread) -> None:
            others.append(thread)
            original(thread)

        with patched(threading.Thread, "start", start):
            yield

    def keep(self, thread: I64, time_ns: I64) -> Bools:
        """Return for events, shape ``[n]``, whether their thread is recorded at that time (Unix ns)."""
        kept = np.ones(len(thread), bool)
        present = set(np.unique(thread).tolist())
        for other in {other.native_id for other in self._others} & present:
            rows = np.flatnonzero(thread == other)
            switches = [(switch_ns, enabled) for switch_ns, switched, enabled in self.switches if switched == other]
            last = np.searchsorted([switch_ns for switch_ns, _ in switches], time_ns[rows], side="right")
            # Off until the first switch.
            kept[rows] = np.array([False, *(enabled for _, enabled in switches)])[last]
        return kept
