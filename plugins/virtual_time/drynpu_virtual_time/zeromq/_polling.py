"""What waits for several sockets: polls, and proxies, which pass on what comes."""

from __future__ import annotations

import select
from collections.abc import Callable, Sequence
from errno import ENOTSOCK, ENOTSUP
from typing import Final

from attrs import define
from zmq.constants import Flag, PollEvent, SocketType
from zmq.error import ZMQError

from drynpu_virtual_time.start import virtual_clock
from drynpu_virtual_time.zeromq._core import Core, pass_turn
from drynpu_virtual_time.zeromq._pipes import Message
from drynpu_virtual_time.zeromq._streams import new_poll
from drynpu_virtual_time.zeromq.foreign import Foreign

_MS_NS: Final = 1_000_000
_EVENTS: Final = (
    (PollEvent.POLLIN, select.POLLIN),
    (PollEvent.POLLOUT, select.POLLOUT),
    (PollEvent.POLLERR, select.POLLERR),
)
_Seen = list[tuple[Foreign, int]]


def zmq_poll(sockets: Sequence[tuple[Foreign, int]], timeout: int = -1) -> _Seen:
    """Return what can be done with sockets and descriptors, as soon as there is something."""
    looks = [_looking(each, events) for each, events in sockets]
    if not looks:
        return []

    def seen() -> _Seen:
        events_now = [(each, look()) for each, look in looks]
        return [(each, events) for each, events in events_now if events]

    clock, timeout = virtual_clock(), int(timeout)
    if not clock.is_guest:
        clock.spend(0)
    events = seen()
    if events or timeout == 0:
        if not events:
            pass_turn(clock)
        return events or seen()
    events_now: _Seen = []

    def has_come() -> bool:
        events_now[:] = seen()
        return bool(events_now)

    clock.wait(has_come, None if timeout < 0 else timeout * _MS_NS)
    return events_now


def _looking(each: Foreign, events: int) -> tuple[Foreign, Callable[[], int]]:
    """Return a socket or a descriptor, and a function that says which of the events are there."""
    core = getattr(each, "_core", None)
    if isinstance(core, Core):
        if each._closed:
            raise ZMQError(ENOTSOCK)
        return each, lambda: core.events() & events
    if not isinstance(each, int):
        if not hasattr(each, "fileno"):
            raise TypeError(f"Socket must be a 0MQ socket, an integer fd or have a fileno() method: {each!r}")
        try:
            each = int(each.fileno())
        except Exception:  # noqa: BLE001 - it is the script's
            raise ValueError("fileno() must return a valid integer fd") from None
    poll = new_poll()
    poll.register(each, sum(real for ours, real in _EVENTS if events & ours))

    def look() -> int:
        seen = poll.poll(0)
        mask = seen[0][1] if seen else 0
        mask |= select.POLLIN if mask & select.POLLHUP else 0
        return int(sum(ours for ours, real in _EVENTS if mask & real) & (events | PollEvent.POLLERR))

    return each, look


def _receive(socket: Foreign) -> Message:
    parts = [socket._core.receive(0)]
    while socket._core._has_more:
        parts.append(socket._core.receive(0))
    return parts


def _send(socket: Foreign, parts: Message) -> None:
    for part in parts[:-1]:
        socket._core.send(part, Flag.SNDMORE)
    socket._core.send(parts[-1], 0)


Change = Callable[[Message, int], Message]
"""What is sent for a message that came from the side with that number."""
Copy = Callable[[Message, int], Message]
"""What the capturing socket gets for it."""


@define(eq=False)
class _Proxy:
    sides: tuple[Foreign, Foreign]
    capture: Foreign = None
    change: Change = lambda parts, _: parts
    copy: Copy = lambda parts, _: parts

    def run(self) -> None:
        """Pass messages on until the context ends."""
        clock = virtual_clock()
        while True:
            clock.wait(self._has_work)
            for number in (0, 1):
                if self._can_pass(number):
                    parts = _receive(self.sides[number])
                    if self.capture is not None:
                        _send(self.capture, self.copy(parts, number))
                    _send(self.sides[1 - number], self.change(parts, number))

    def _has_work(self) -> bool:
        return self._can_pass(0) or self._can_pass(1)

    def _can_pass(self, number: int) -> bool:
        here, there = self.sides[number], self.sides[1 - number]
        if not here._core.events() & PollEvent.POLLIN:
            return False
        return here is there or bool(there._core.events() & PollEvent.POLLOUT)


def proxy(frontend: Foreign, backend: Foreign, capture: Foreign = None) -> int:
    """Pass messages between two sockets, until their context ends."""
    _Proxy((frontend, backend), capture).run()
    return 0


def proxy_steerable(frontend: Foreign, backend: Foreign, capture: Foreign = None, control: Foreign = None) -> int:
    """Refuse, as libzmq does from 4.3.5 on."""
    del frontend, backend, capture, control
    raise ZMQError(ENOTSUP)


def monitored_queue(
    in_socket: Foreign, out_socket: Foreign, mon_socket: Foreign, in_prefix: bytes = b"in", out_prefix: bytes = b"out"
) -> int:
    """Pass messages between two sockets; a third one gets each of them behind a word for the side."""
    swaps = in_socket._core.kind == out_socket._core.kind == SocketType.ROUTER

    def change(parts: Message, _: int) -> Message:
        return [parts[1], parts[0], *parts[2:]] if swaps and len(parts) > 1 else parts

    def copy(parts: Message, number: int) -> Message:
        return [out_prefix if number else in_prefix, *change(parts, number)]

    _Proxy((in_socket, out_socket), mon_socket, change=change, copy=copy).run()
    return 0
