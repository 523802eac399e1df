"""
The virtual clock of a process: threads take turns, and time passes only where a modelled cost or a wait says so.

One thread runs at a time and goes on until it waits, so that the order of everything follows from the script alone.
When all threads wait, the clock jumps to the first deadline. Threads that Python did not start (PyTorch's) are guests:
they work for the thread that runs, read its clock and wait as on any machine.
"""

from __future__ import annotations

import _thread
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from attrs import define, field

from drynpu import DrynpuError
from drynpu_virtual_time._arbiter import SLEEP_S
from drynpu_virtual_time._turns import Turn, order_of_deadlines

if TYPE_CHECKING:
    from drynpu_virtual_time._peers import Peers

READ_NS: Final = 100
"""What it takes to read a clock; assumed. Without it, a loop until a time would never end."""
TURN_NS: Final = 20_000
"""A turn of an event loop or of a poll: Python around ``epoll_wait``; assumed."""
SWITCH_NS: Final = 5_000
"""Until a thread that was woken runs; assumed (a futex and Python's lock)."""
SLICE_NS: Final = 5_000_000
"""After so long a thread lets others run when it looks at the clock: Python's interval of switching."""
_SPIN_SHARE: Final = 100
"""A loop that yields its processor until something happens sees it late by this part of its wait at most; assumed."""
_SPIN_READS: Final = 20
"""Readings of a clock between two turns of such a loop at most; assumed."""
ORIGIN_NS: Final = 1_767_225_600_000_000_000
"""Unix time at the start: 2026-01-01, so that two runs have the same times."""
STEADY_NS: Final = 1_000_000_000_000
"""The steady clocks at the start."""

_Result = TypeVar("_Result")
_really_sleep: Final = time.sleep


class Source(Protocol):
    """
    Something that makes the host's time pass beside the script's waits: the simulated device.

    ``kernel_ns`` says how long its kernels of each type have run so far.
    """

    kernel_ns: Counter[str]

    def settle(self, now_ns: int) -> int:
        """Return the host's time when all work until now has been handed over, and the waits in it are over."""


@define(eq=False, repr=False)
class VirtualClock:
    """
    The time of a process, in ns after its origins.

    The methods that wait return whether what they waited for has come. ``peers`` are the other processes of the run, as
    soon as there are some.
    """

    now_ns: int = 0
    source: Source | None = None
    peers: Peers | None = None
    _guard: _thread.RLock = field(factory=_thread.RLock)
    _turns: int = 0
    _waiting: list[Turn] = field(factory=list)
    _begun_ns: int = 0
    _spin_ns: tuple[int, int] = (0, -1)
    """When a loop that yields began, and when it yielded last."""
    _settling: bool = False
    _ready_turn: Turn | None = None
    _local: threading.local = field(factory=threading.local)

    def __attrs_post_init__(self) -> None:
        self._local.turn = self._new_turn()
        os.register_at_fork(after_in_child=self._forget_threads)

    def _new_turn(self) -> Turn:
        with self._guard:
            self._turns += 1
            return Turn(self._turns)

    def _forget_threads(self) -> None:
        """Go on in a forked process, which has the thread that forked alone."""
        self._guard, self._ready_turn = _thread.RLock(), None
        self._waiting.clear()
        if self.peers is not None:
            self.peers.place.close()
            self.peers = None

    def join_run(self, peers: Peers) -> None:
        """Go on as a process that another one of a run has started, at its time."""
        self.peers, self.now_ns = peers, peers.now_ns

    @property
    def is_guest(self) -> bool:
        """Whether this thread has no turns."""
        return getattr(self._local, "turn", None) is None

    def kernel_ns(self) -> dict[str, int]:
        """Return how long kernels of each type, and collectives of each kind, have run so far."""
        self.settle()
        return {} if self.source is None else dict(self.source.kernel_ns)

    def settle(self) -> None:
        """Count what the host did since the last time for the device, with its waits for that."""
        if self.source is None or self._settling or self.is_guest:
            return
        self._settling = True
        try:
            until_ns = self.source.settle(self.now_ns)
        finally:
            self._settling = False
        if until_ns > self.now_ns:
            self._pass(until_ns - self.now_ns)

    def read(self) -> int:
        """Return the time, ns after the origin; others run meanwhile if this thread has run for long."""
        self.settle()
        self.now_ns += READ_NS
        self._keep_up()
        if self.now_ns - self._begun_ns > SLICE_NS and not self.is_guest:
            self.let_others_run()
        return self.now_ns

    def spend(self, cost_ns: int) -> None:
        """Let this thread take so long."""
        self.settle()
        self.now_ns += cost_ns
        self._keep_up()

    def _keep_up(self) -> None:
        """Let processes run that are due before this one."""
        if self.peers is not None and not self._settling and not self.is_guest:
            self._among_peers(self.peers, lambda peers: peers.keep_up(self.now_ns))

    def _among_peers(self, peers: Peers, act: Callable[[Peers], _Result]) -> _Result:
        """Let other processes go on; return what comes of it when it is the turn of this one again."""
        try:
            return act(peers)
        finally:
            self.now_ns = max(self.now_ns, peers.now_ns)

    def _wait_for_peers(self, peers: Peers, due_ns: int | None) -> None:
        self._among_peers(peers, lambda _: peers.wait(self.now_ns, due_ns, self._look))

    def publish(self) -> None:
        """Let other processes see what this one has just done."""
        self.settle()
        if self.peers is not None and not self.is_guest:
            self._among_peers(self.peers, lambda peers: peers.publish(self.now_ns))

    def come(self, name: str, size: int, world: str = "") -> Callable[[], None]:
        """
        Come to a meeting of *size* processes of a world, to which none comes twice; return what waits for the others.

        Raises
        ------
        LostError
            From what is returned: one of them has ended.
        """
        self.settle()
        if self.peers is None or self.is_guest:
            return lambda: None
        are_there = self.peers.come(self.now_ns, name, size, world)

        def wait_for_others() -> None:
            self.wait(are_there)

        return wait_for_others

    def together(self, name: str, size: int, world: str, act: Callable[[], _Result]) -> _Result:
        """Wait for *size* processes that do the same; then all do it at once, since it needs the others to go on."""
        # Other threads of this process run until all are there.
        self.come(name, size, world)()
        if self.peers is None or self.is_guest:
            return act()
        return self._among_peers(self.peers, lambda peers: peers.together(self.now_ns, name, size, world, act))

    def sleep(self, length_ns: int) -> None:
        """Let this thread sleep; one of 0 lets others run."""
        self.settle()
        if self.is_guest:  # it works for a thread that waits for it
            self.now_ns += length_ns
        elif length_ns > 0:
            self._wait(None, self.now_ns + length_ns)
        else:
            self._spin()

    def _spin(self) -> None:
        """Let others run once, as in a loop that yields until something has happened."""
        begin_ns, last_ns = self._spin_ns
        if not 0 <= self.now_ns - last_ns <= _SPIN_READS * READ_NS or last_ns < 0:
            begin_ns = self.now_ns
        self.now_ns += max(READ_NS, (self.now_ns - begin_ns) // _SPIN_SHARE)
        self._keep_up()
        self.let_others_run()
        self._spin_ns = (begin_ns, self.now_ns)

    def wait(self, ready: Callable[[], bool], timeout_ns: int | None = None) -> bool:
        """Wait until *ready* says so, at most so long; *ready* may be asked by any thread, and says yes once."""
        self.settle()
        if ready():
            return True
        if timeout_ns is not None and timeout_ns <= 0:
            return False
        deadline_ns = None if timeout_ns is None else self.now_ns + timeout_ns
        if self.is_guest:
            return self._wait_outside(ready, deadline_ns)
        came = self._wait(ready, deadline_ns)
        self.now_ns += SWITCH_NS
        return came

    def let_others_run(self) -> None:
        """Let every thread run that can."""
        if self._waiting:
            self._wait(None, self.now_ns)
        self._begun_ns = self.now_ns

    def register(self) -> Turn:
        """Return the turn of a thread that is about to start; it runs when somebody waits."""
        turn = self._new_turn()
        turn.ready = lambda: True
        with self._guard:
            self._waiting.append(turn)
        return turn

    def enter(self, turn: Turn) -> None:
        """Begin to run as a thread that was registered, when its turn comes."""
        self._local.turn = turn
        turn.gate.acquire()
        self._begun_ns = self.now_ns

    def leave(self) -> None:
        """End this thread."""
        turn = self._local.turn
        try:
            self.settle()
        finally:
            turn.finished = True
            self._local.turn = None
            self._pass_on()

    def _pass_on(self) -> None:
        try:
            following = self._choose()
        except DrynpuError as error:  # nobody gives turns any more; the first one that waits hears of it
            with self._guard:
                following = self._waiting.pop(0)
            following.error = error
        following.give()

    def drop(self, turn: Turn) -> None:
        """Forget a thread that could not be started."""
        with self._guard:
            self._waiting.remove(turn)

    def _pass(self, length_ns: int) -> None:
        """Let time pass in which the host works or waits for the device, and others run at their deadlines."""
        if self._waiting:
            self._wait(None, self.now_ns + length_ns)
        else:
            self.now_ns += length_ns

    def _wait(self, ready: Callable[[], bool] | None, deadline_ns: int | None) -> bool:
        turn: Turn = self._local.turn
        turn.begin_wait(ready, deadline_ns)
        with self._guard:
            self._waiting.append(turn)
        try:
            following = self._choose()
        except BaseException:  # this thread goes on: no other one does
            with self._guard:
                if turn in self._waiting:
                    self._waiting.remove(turn)
            raise
        if following is not turn:
            following.give()
            turn.await_turn()
        self._begun_ns = self.now_ns
        error, turn.error = turn.error, None
        if error is not None:
            raise error
        return turn.came

    def _choose(self) -> Turn:
        """Return whose turn it is, and take it from those that wait; the clock jumps where all wait."""
        delay_s = SLEEP_S[0]
        while True:
            turn = self._come()
            if turn is not None:
                return turn
            due = self._due()
            due_ns = None if due is None else due.deadline_ns
            if due is not None and due_ns is not None and due_ns <= self.now_ns:
                return self._chosen(due, came=False)
            if self.peers is not None and not self.peers.is_apart:
                self._wait_for_peers(self.peers, due_ns)
            elif due_ns is not None:
                self.now_ns = due_ns
            else:
                # Only the machine can end this wait: a guest, a child process, a socket.
                _really_sleep(delay_s)
                delay_s = min(2 * delay_s, SLEEP_S[1])

    def _come(self) -> Turn | None:
        """Return the first thread for which what it waits for has come."""
        turn, self._ready_turn = self._ready_turn, None
        if turn is not None:
            return turn
        with self._guard:
            waiting = list(self._waiting)
        for each in waiting:
            try:
                came = each.ready is not None and each.ready()
            except Exception as error:  # noqa: BLE001 - it is raised in the thread that waits
                each.error, came = error, True
            if came:
                return self._chosen(each, came=True)
        return None

    def _due(self) -> Turn | None:
        with self._guard:
            return min(
                (each for each in self._waiting if each.deadline_ns is not None), key=order_of_deadlines, default=None
            )

    def _look(self, time_ns: int) -> int | None:
        """Return when a thread of this process can go on, as far as that is known at *time_ns*."""
        self._ready_turn = self._come()
        if self._ready_turn is not None:
            return max(self.now_ns, time_ns)
        due = self._due()
        return None if due is None else due.deadline_ns

    def _chosen(self, turn: Turn, *, came: bool) -> Turn:
        turn.came = came
        with self._guard:
            self._waiting.remove(turn)
        return turn

    def _wait_outside(self, ready: Callable[[], bool], deadline_ns: int | None) -> bool:
        while not ready():
            if deadline_ns is not None and self.now_ns >= deadline_ns:
                return False
            _really_sleep(SLEEP_S[0])
        return True
