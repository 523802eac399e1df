"""What ZeroMQ's own threads do in a process: it answers those that connect, and sends what had no room."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from typing import Protocol

from attrs import define, field

from drynpu import DrynpuError
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time.zeromq._pipes import Pipe
from drynpu_virtual_time.zeromq._streams import Watch

_MS_NS = 1_000_000


class Kept(Protocol):
    """A socket whose script may be busy with something else."""

    def look_beside(self) -> None:
        """Take what has come, so that who sends it can end."""

    def forget(self) -> None:
        """Close what belongs to the process that forked."""


@define(eq=False)
class Pump:
    """
    A thread on the clock, as soon as there is something to do.

    ``behind`` are pipes that connect or send, with what is to happen once something of that has; ``lingering`` are
    pipes of closed sockets, with the time when they give up.
    """

    clock: VirtualClock
    behind: dict[Pipe, Callable[[], None]] = field(factory=dict)
    lingering: dict[Pipe, int | None] = field(factory=dict)
    sockets: dict[int, Kept] = field(factory=dict)
    _watch: Watch | None = None
    _runs: bool = False

    def __attrs_post_init__(self) -> None:
        os.register_at_fork(after_in_child=self._forget)

    def answer(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call this where somebody has come to a listener."""
        if self._watch is None:
            self._watch = Watch()
        self._watch.add(descriptor, call)
        self._start()

    def stop_answering(self, descriptor: int) -> None:
        """Forget a listener."""
        if self._watch is not None:
            self._watch.remove(descriptor)

    def follow(self, pipe: Pipe, call: Callable[[], None]) -> None:
        """Let a pipe connect and send as soon as it can."""
        if pipe.is_behind and pipe not in self.behind:
            self.behind[pipe] = call
            self._start()

    def linger(self, pipe: Pipe, linger_ms: int) -> None:
        """Let a pipe of a closed socket send the rest; -1 is for ever."""
        self.behind.pop(pipe, None)
        if not pipe.has_rest or linger_ms == 0:
            pipe.close()
            return
        self.lingering[pipe] = None if linger_ms < 0 else self.clock.now_ns + linger_ms * _MS_NS
        self._start()

    def work(self) -> bool:
        """Do what can be done; return whether there was anything, which others should see."""
        done = self._watch is not None and self._watch.look() > 0
        for each in list(self.sockets.values()):
            each.look_beside()
        for pipe, call in list(self.behind.items()):
            if pipe.catch_up():
                done = True
                call()
            if not pipe.is_behind:
                self.behind.pop(pipe, None)
        for pipe, end_ns in list(self.lingering.items()):
            done = pipe.catch_up() or done
            if not pipe.has_rest or (end_ns is not None and self.clock.now_ns >= end_ns):
                del self.lingering[pipe]
                pipe.close()
        return done

    def _start(self) -> None:
        if not self._runs:
            self._runs = True
            _thread.start_new_thread(self._run, (self.clock.register(),))

    def _run(self, turn: object) -> None:
        try:
            self.clock.enter(turn)  # type: ignore[arg-type]
            while True:
                self.clock.wait(self.work)
                self.clock.publish()
        except DrynpuError:  # nobody gives turns any more: the script hears of it
            return

    def _forget(self) -> None:
        """Begin anew in a forked process, which leaves the streams to the one that forked."""
        for each in list(self.sockets.values()):
            each.forget()
        for pipe in self.lingering:
            pipe.close()
        if self._watch is not None:
            self._watch.close()
        self._watch, self._runs = None, False
        self.behind.clear()
        self.lingering.clear()
        self.sockets.clear()
