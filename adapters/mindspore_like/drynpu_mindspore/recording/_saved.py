"""How far the journal of a recording is."""

from __future__ import annotations

import time

from attrs import define, field

from drynpu.kernels import Call
from drynpu.recorder import SAVE_INTERVAL_NS
from drynpu.simulate import Mark
from drynpu_mindspore.capture import MemoryProgress
from drynpu_mindspore.recording._marks import ScriptMarks

_LEAST_SHARE = 20
"""A cut holds the script up; the time between two is at least so many times as long as a cut took."""


@define
class SavedProgress:
    """
    What the journal of a recording has so far.

    Attributes
    ----------
    due_ns:
        When the next part may be cut off; Unix ns.
    memory:
        What the parts left to the model of memory; of the thread that reads them.
    """

    due_ns: int
    memory: MemoryProgress = field(factory=MemoryProgress)
    _calls: int = 0
    _marks: int = 0

    def __attrs_post_init__(self) -> None:
        self.due_ns += SAVE_INTERVAL_NS

    def new_marks(self, marks: ScriptMarks) -> tuple[list[Call], list[Mark]]:
        """Return calls and marks of the script since the last time."""
        calls, tx = marks.calls[self._calls :], marks.tx[self._marks :]
        self._calls += len(calls)
        self._marks += len(tx)
        return calls, tx

    def postpone(self, begun_ns: int) -> None:
        """Set when the next part is due, after one whose cut began at *begun_ns*."""
        now_ns = time.time_ns()
        self.due_ns = now_ns + max(SAVE_INTERVAL_NS, _LEAST_SHARE * (now_ns - begun_ns))
