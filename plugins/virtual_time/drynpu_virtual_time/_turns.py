"""A thread as the virtual clock knows it: what it waits for, and how it hears that its turn has come."""

from __future__ import annotations

import _thread
from collections.abc import Callable, Iterable
from typing import Final

from attrs import define, field

_allocate_lock: Final = _thread.allocate_lock


@define(eq=False, repr=False)
class Turn:
    """
    A thread as the clock knows it.

    ``ready`` says whether what it waits for has come, ``deadline_ns`` until when it waits. ``gate`` is released when
    its turn comes, after ``has_come`` is set; ``error`` is then raised in it: what ``ready`` raised, or a handler of
    signals. Each wait has a gate of its own, so that none finds open what an interrupted one has left.
    """

    number: int
    ready: Callable[[], bool] | None = None
    deadline_ns: int | None = None
    came: bool = False
    finished: bool = False
    error: BaseException | None = None
    has_come: bool = False
    gate: _thread.LockType = field(factory=_allocate_lock)

    def __attrs_post_init__(self) -> None:
        self.gate.acquire()

    def begin_wait(self, ready: Callable[[], bool] | None, deadline_ns: int | None) -> None:
        """Wait from now on."""
        gate = _allocate_lock()
        gate.acquire()
        self.ready, self.deadline_ns, self.has_come, self.gate = ready, deadline_ns, False, gate

    def give(self) -> None:
        """Let the thread go on."""
        gate, self.has_come = self.gate, True
        gate.release()

    def await_turn(self) -> None:
        """Wait for the turn; what a handler of signals raises meanwhile is raised then, the second time at once."""
        try:
            self.gate.acquire()
        except BaseException as error:  # noqa: BLE001 - it is raised in this thread
            self.error, self.ready = error, _at_once
            if not self.has_come:
                self.gate.acquire()


def _at_once() -> bool:
    return True


def order_of_deadlines(turn: Turn) -> tuple[int, int]:
    """Return what sorts threads by their deadlines, of two the one that was started first."""
    return (turn.deadline_ns or 0, turn.number)


def all_finished(turns: Iterable[Turn]) -> bool:
    """Return whether all those threads have ended."""
    return all(turn.finished for turn in turns)
