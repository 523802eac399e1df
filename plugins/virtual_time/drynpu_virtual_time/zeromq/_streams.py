"""What carries messages: streams of this machine, which never block."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import stat
from collections.abc import Callable
from typing import Final

from attrs import define, field

from drynpu_virtual_time.zeromq.foreign import Foreign

# Before scripts get others, which wait for their turn.
_accept: Final = socket.socket.accept
_receive: Final = socket.socket.recv
_send: Final = socket.socket.send
_new_epoll: Final[Foreign] = getattr(select, "epoll", None)
new_poll: Final = select.poll
_read: Final = os.read
_write: Final = os.write
_CHUNK: Final = 1 << 18
_MOST_PENDING: Final = 4096


def are_possible() -> bool:
    """Return whether this system has what the streams need: Linux has."""
    return _new_epoll is not None


class EndedError(Exception):
    """The other end of a stream has gone."""


def _new_socket() -> socket.socket:
    channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    channel.setblocking(False)
    return channel


def listen(name: str) -> socket.socket:
    """Return a socket that listens under a name of no file; an `OSError` says that another one does."""
    channel = _new_socket()
    try:
        channel.bind("\0" + name)
        channel.listen(_MOST_PENDING)
    except OSError:
        channel.close()
        raise
    return channel


def connect(name: str) -> socket.socket | None:
    """Return a socket to what listens under a name, if anything does."""
    channel = _new_socket()
    try:
        channel.connect("\0" + name)
    except OSError:
        channel.close()
        return None
    return channel


def accept(listener: socket.socket) -> socket.socket | None:
    """Return the next socket that has come to a listener, if there is one."""
    try:
        channel, _ = _accept(listener)
    except OSError:
        return None
    channel.setblocking(False)
    return channel


def receive(channel: socket.socket) -> bytes | None:
    """Return what has come, ``None`` where nothing has; `EndedError` after the last byte."""
    try:
        data = _receive(channel, _CHUNK)
    except BlockingIOError:
        return None
    except OSError:
        raise EndedError from None
    if not data:
        raise EndedError
    return data


def send(channel: socket.socket, data: memoryview) -> int:
    """Return how many bytes were taken; `EndedError` where nobody can get them."""
    try:
        return _send(channel, data, socket.MSG_NOSIGNAL)
    except BlockingIOError:
        return 0
    except OSError:
        raise EndedError from None


def is_served_by_others(family: int, address: tuple[str, int] | str) -> bool:
    """Return whether a program listens there that is no process of a run."""
    if isinstance(address, str) and not _is_socket(address):
        return False
    with socket.socket(family, socket.SOCK_STREAM) as channel:
        channel.settimeout(1.0)
        try:
            channel.connect(address)
        except OSError:
            return False
    return True


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.stat(path).st_mode)  # noqa: PTH116 - a path of ZeroMQ is text
    except OSError:
        return False


@define(eq=False)
class Watch:
    """Descriptors in one: it is readable where one of them is, or where it was flagged."""

    _poll: select.epoll = field(factory=lambda: _new_epoll())
    _flag: int = field(init=False)
    _flagging: int = field(init=False)
    _calls: dict[int, Callable[[], None]] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self._flag, self._flagging = os.pipe()
        for end in (self._flag, self._flagging):
            os.set_blocking(end, False)
        self._poll.register(self._flag, select.EPOLLIN)
        self._calls[self._flag] = self._unflag

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._poll.fileno()

    def add(self, descriptor: int, call: Callable[[], None]) -> None:
        """Call this where the descriptor can be read."""
        if descriptor not in self._calls:
            self._poll.register(descriptor, select.EPOLLIN)
        self._calls[descriptor] = call

    def remove(self, descriptor: int) -> None:
        """Forget a descriptor that is still open."""
        if self._calls.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)

    def flag(self) -> None:
        """Be readable until somebody looks."""
        with contextlib.suppress(BlockingIOError):  # it has been flagged very often
            _write(self._flagging, b"f")

    def look(self) -> int:
        """Call what can be read; return how much that was."""
        ready = self._poll.poll(0)
        # In the order of their beginning: the system's is a matter of chance.
        for descriptor in [each for each in self._calls if each in dict(ready)]:
            call = self._calls.get(descriptor)
            if call is not None:
                call()
        return len(ready)

    def look_beside(self) -> None:
        """Call what can be read, and be flagged for whoever waits for that."""
        ready = [descriptor for descriptor, _ in self._poll.poll(0) if descriptor != self._flag]
        for descriptor in [each for each in self._calls if each in ready]:
            call = self._calls.get(descriptor)
            if call is not None:
                call()
        if ready:
            self.flag()

    def close(self) -> None:
        """Close what is its own."""
        self._calls.clear()
        self._poll.close()
        os.close(self._flag)
        os.close(self._flagging)

    def _unflag(self) -> None:
        _read(self._flag, _CHUNK)
