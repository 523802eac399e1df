"""A socket to programs that are no processes of the run: libzmq carries its messages at this machine's time."""

from __future__ import annotations

from collections.abc import Callable
from errno import EAGAIN
from typing import TypeVar

from attrs import define
from zmq.constants import Flag, PollEvent, SocketOption
from zmq.error import Again, ZMQError

from drynpu import say_once
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time.zeromq.foreign import Foreign

_Result = TypeVar("_Result")
_MS_NS = 1_000_000


@define(eq=False)
class Outside:
    """libzmq's socket, whose calls wait on the clock; ``is_over`` says that its context ends."""

    clock: VirtualClock
    really: Foreign
    is_over: Callable[[], bool]

    def __attrs_post_init__(self) -> None:
        say_once("virtual time: ZeroMQ delivers at this machine's time what comes from programs outside of the run")

    def send(self, data: bytes, flags: int) -> None:
        """Send a part of a message."""
        send = self.really.send
        self._when_possible(lambda: send(data, flags | Flag.DONTWAIT), flags, SocketOption.SNDTIMEO, PollEvent.POLLOUT)

    def receive(self, flags: int) -> tuple[bytes, bool]:
        """Return a part of a message, and whether more of them belong to it."""
        receive = self.really.recv
        data = self._when_possible(
            lambda: receive(flags | Flag.DONTWAIT), flags, SocketOption.RCVTIMEO, PollEvent.POLLIN
        )
        return bytes(data), bool(self.really.get(SocketOption.RCVMORE))

    def _when_possible(self, act: Callable[[], _Result], flags: int, timeout: int, event: int) -> _Result:
        limit_ms = 0 if flags & Flag.DONTWAIT else self.really.get(timeout)
        while True:
            try:
                return act()
            except Again:
                if limit_ms == 0:
                    raise
            if not self.clock.wait(lambda: self._is_ready(event), None if limit_ms < 0 else limit_ms * _MS_NS):
                raise Again(EAGAIN)

    def _is_ready(self, event: int) -> bool:
        try:
            return self.is_over() or bool(self.really.get(SocketOption.EVENTS) & event)
        except ZMQError:  # the call itself says what is wrong
            return True
