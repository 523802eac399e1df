"""A context of ZeroMQ: its sockets, and the end of all of them."""

from __future__ import annotations

import os

from attrs import define, field
from zmq.backend import cython as libzmq

from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time.zeromq._pipes import Pipe
from drynpu_virtual_time.zeromq._pump import Pump
from drynpu_virtual_time.zeromq._streams import Watch
from drynpu_virtual_time.zeromq.foreign import Foreign


def _new_key() -> str:
    return os.urandom(8).hex()


@define(eq=False)
class ContextCore:
    """
    What contexts that are shadows of each other share.

    ``really`` is libzmq's: it has the options, and serves what goes to programs outside of the run. ``key`` is in the
    names of inproc. ``monitors`` are endpoints of libzmq's monitors.
    """

    clock: VirtualClock
    pump: Pump
    really: Foreign = field(factory=lambda: libzmq.Context())
    key: str = field(factory=_new_key)
    is_terminated: bool = False
    is_over: bool = False
    watches: dict[int, Watch] = field(factory=dict)
    pipes: list[Pipe] = field(factory=list)
    monitors: set[str] = field(factory=set)

    def leave(self, pipe: Pipe, linger_ms: int) -> None:
        """Close a pipe when it has sent the rest, or after so long."""
        self.pump.linger(pipe, linger_ms)
        self.pipes.append(pipe)

    def end(self) -> None:
        """End waits of its sockets, and wait until all are closed and have sent what they had to."""
        if self.is_over:
            return
        self.is_terminated = True
        for watch in self.watches.values():
            watch.flag()
        if not self._is_done():
            self.clock.wait(self._is_done)
        self.is_over = True
        self.really.term()

    def _is_done(self) -> bool:
        self.pump.work()
        self.pipes = [pipe for pipe in self.pipes if pipe in self.pump.lingering]
        return not self.watches and not self.pipes
