"""Pipes and sockets between the processes of a run: what is not there yet, or has no room, is awaited on the clock."""

from __future__ import annotations

import functools
import os
import select
import socket
import stat
import sys
from collections.abc import Callable, Iterable
from multiprocessing import connection
from typing import TYPE_CHECKING, Any, Final, cast

from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours
from drynpu_virtual_time._threads import must_have_names

if TYPE_CHECKING:
    from _socket import _Address

    from _typeshed import ReadableBuffer

_NS: Final = 1_000_000_000
_INNER_NAMES: Final = ((connection.Connection, ("_recv", "_send")),)
_AT_ONCE: Final = select.PIPE_BUF
"""Bytes that a pipe takes at once or not at all."""
_FLAGS_AT: Final = {"recv": 1, "recv_into": 2, "recvfrom": 1, "recvfrom_into": 2, "recvmsg": 2, "recvmsg_into": 2}
"""The place of the flags among the arguments."""
_poll: Final = select.poll
_read: Final = os.read
_write: Final = os.write
_send: Final = socket.socket.send
_send_to: Final = socket.socket.sendto
_send_message: Final = socket.socket.sendmsg


def patch_channels(clock: VirtualClock, replaced: Replaced) -> None:
    """Let pipes and sockets wait on *clock* where there are other processes."""
    must_have_names(_INNER_NAMES)
    _patch_connections(clock)
    for name in ("accept", *_FLAGS_AT):
        setattr(socket.socket, name, _receiving(clock, getattr(socket.socket, name), _FLAGS_AT.get(name)))
    _patch_sends(clock)
    _patch_descriptors(clock, replaced)


def _patch_connections(clock: VirtualClock) -> None:
    kind: Any = connection.Connection
    receive, send = kind._recv, kind._send

    def read(descriptor: int, size: int) -> bytes:
        if clock.peers is not None:
            clock.wait(_ready(descriptor, select.POLLIN))
        return _read(descriptor, size)

    def write(descriptor: int, data: bytes) -> int:
        if clock.peers is None:
            return _write(descriptor, data)
        clock.wait(_ready(descriptor, select.POLLOUT))
        return _write(descriptor, data[:_AT_ONCE])

    def send_bytes(self: object, data: bytes) -> None:
        clock.spend(0)
        send(self, data, write)
        clock.publish()

    kind._recv = lambda self, size: receive(self, size, read)
    kind._send = send_bytes


def _patch_descriptors(clock: VirtualClock, replaced: Replaced) -> None:
    def read(descriptor: int, size: int) -> bytes:
        if _is_awaited(clock, descriptor):
            clock.wait(_ready(descriptor, select.POLLIN))
        return _read(descriptor, size)

    def write(descriptor: int, data: ReadableBuffer) -> int:
        if not _is_awaited(clock, descriptor):
            return _write(descriptor, data)
        clock.spend(0)
        view, written = memoryview(data).cast("B"), 0
        while True:
            clock.wait(_ready(descriptor, select.POLLOUT))
            written += _write(descriptor, view[written : written + _AT_ONCE])
            if written == len(view):
                break
        clock.publish()
        return written

    replaced.put(os, "read", read)
    replaced.put(os, "write", write)


def _is_awaited(clock: VirtualClock, descriptor: int) -> bool:
    """Return whether another process of the run may be at the other end of what blocks."""
    if clock.peers is None or clock.is_guest or is_ours(sys._getframe(2)):
        return False
    mode = os.fstat(descriptor).st_mode
    return (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and os.get_blocking(descriptor)


def _receiving(clock: VirtualClock, receive: Callable[..., object], flags_at: int | None) -> Callable[..., object]:
    @functools.wraps(receive)
    def received(self: socket.socket, *arguments: object, **options: object) -> object:
        limit = self.gettimeout()
        flags = arguments[flags_at] if flags_at is not None and len(arguments) > flags_at else options.get("flags")
        at_once = limit == 0 or self.fileno() < 0 or (isinstance(flags, int) and flags & socket.MSG_DONTWAIT)
        if not at_once and clock.peers is not None and not clock.is_guest and not is_ours(sys._getframe(1)):
            limit_ns = None if limit is None else round(limit * _NS)
            if not clock.wait(_ready(self.fileno(), select.POLLIN), limit_ns):
                raise TimeoutError("timed out")
        return receive(self, *arguments, **options)

    return received


def _patch_sends(clock: VirtualClock) -> None:
    """Let sends go piece by piece: one that blocks would wait for a process that has no turn."""
    really_send_all = socket.socket.sendall

    def send(self: socket.socket, data: ReadableBuffer, flags: int = 0) -> int:
        return _sent(clock, self, lambda extra: _send(self, data, flags | extra))

    def send_to(self: socket.socket, data: ReadableBuffer, *where: object) -> int:
        flags = where[0] if len(where) > 1 and isinstance(where[0], int) else 0
        return _sent(clock, self, lambda extra: _send_to(self, data, flags | extra, cast("_Address", where[-1])))

    def send_message(
        self: socket.socket,
        buffers: Iterable[ReadableBuffer],
        others: Iterable[tuple[int, int, ReadableBuffer]] = (),
        flags: int = 0,
        *address: _Address,
    ) -> int:
        return _sent(clock, self, lambda extra: _send_message(self, buffers, others, flags | extra, *address))

    def send_all(self: socket.socket, data: ReadableBuffer, flags: int = 0) -> None:
        if not _blocks(clock, self):
            really_send_all(self, data, flags)
            return
        view = memoryview(data).cast("B")
        while view:
            view = view[_sent(clock, self, lambda extra, rest=view: _send(self, rest, flags | extra)) :]  # type: ignore[misc]

    for name, function in (("send", send), ("sendto", send_to), ("sendmsg", send_message), ("sendall", send_all)):
        setattr(socket.socket, name, functools.wraps(getattr(socket.socket, name))(function))


def _blocks(clock: VirtualClock, channel: socket.socket) -> bool:
    shared = clock.peers is not None and not clock.is_guest and channel.fileno() >= 0
    return shared and channel.gettimeout() != 0 and not is_ours(sys._getframe(2))


def _sent(clock: VirtualClock, channel: socket.socket, send: Callable[[int], int]) -> int:
    """Return how many bytes were sent, as soon as some could be; *send* takes flags that are added."""
    if clock.peers is None or clock.is_guest or is_ours(sys._getframe(2)):
        return send(0)
    clock.spend(0)
    limit = channel.gettimeout()
    while True:
        try:
            count = send(socket.MSG_DONTWAIT)
        except BlockingIOError:
            if limit == 0:
                raise
            clock.publish()
        else:
            clock.publish()
            return count
        limit_ns = None if limit is None else round(limit * _NS)
        if not clock.wait(_ready(channel.fileno(), select.POLLOUT), limit_ns):
            raise TimeoutError("timed out")


def _ready(descriptor: int, event: int) -> Callable[[], bool]:
    poll = _poll()
    poll.register(descriptor, event)
    return lambda: bool(poll.poll(0))
