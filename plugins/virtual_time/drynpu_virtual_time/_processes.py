"""
``multiprocessing``: processes that are forked or spawned live on the clock of the process that starts them.

A wait for another process has to be a wait on the clock: whoever waits otherwise keeps its turn.
"""

from __future__ import annotations

import contextlib
import functools
import os
import select
import socket
import sys
from collections.abc import Callable, Iterator
from multiprocessing import connection, popen_fork, popen_spawn_posix, spawn, synchronize
from typing import Any, Final

from attrs import define, field

from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours
from drynpu_virtual_time._peers import Peers
from drynpu_virtual_time._threads import must_have_names

_NS: Final = 1_000_000_000
_INNER_NAMES: Final = (
    (popen_fork.Popen, ("_launch",)),
    (popen_spawn_posix.Popen, ("_launch", "duplicate_for_child")),
    (spawn, ("get_command_line",)),
    (connection.Connection, ("_recv", "_send")),
    (synchronize.SemLock, ("_make_methods",)),
)
_AT_ONCE: Final = select.PIPE_BUF
"""Bytes that a pipe takes at once or not at all."""
_poll: Final = select.poll


@define(eq=False)
class Starts:
    """The process that is about to start, if one is."""

    clock: VirtualClock
    _place: socket.socket | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        os.register_at_fork(after_in_child=self._begin)

    @contextlib.contextmanager
    def child(self, popen: Any) -> Iterator[socket.socket]:
        """Announce a process, and note its pid when it is there."""
        self.clock.settle()
        if self.clock.peers is None:
            self.clock.peers = Peers.first()
        number, place = self.clock.peers.new_child(self.clock.now_ns)
        self._place = place
        try:
            with place:
                yield place
        finally:
            self._place = None
        self.clock.peers.children[number] = popen.pid

    def _begin(self) -> None:
        """Wait in a forked process for the first turn."""
        place, self._place = self._place, None
        if place is not None:
            self.clock.peers, self.clock.now_ns = Peers.started(socket.socket(fileno=os.dup(place.fileno())))
            place.close()

    def command(self, words: list[str]) -> list[str]:
        """Return the command of a process that is spawned, which begins with its first turn."""
        if self._place is not None and "-c" in words:
            program = words.index("-c") + 1
            first = f"from drynpu_virtual_time.start import go_on; go_on({self._place.fileno()})"
            words[program] = f"{first}; {words[program]}"
        return words


def patch_processes(clock: VirtualClock, replaced: Replaced) -> None:
    """Let the processes, the pipes and the locks of ``multiprocessing`` live on *clock*, and sockets between them."""
    # N34, docs/tricks.md
    must_have_names(_INNER_NAMES)
    starts = Starts(clock)
    _patch_launch(starts, popen_fork.Popen)
    _patch_launch(starts, popen_spawn_posix.Popen)
    command_line = spawn.get_command_line

    @functools.wraps(command_line)
    def get_command_line(**options: object) -> list[str]:
        return starts.command(command_line(**options))

    spawn.get_command_line = get_command_line
    _patch_pipes(clock)
    _patch_sockets(clock)
    _patch_locks(clock)
    _patch_waits(clock, replaced)


def _patch_waits(clock: VirtualClock, replaced: Replaced) -> None:
    really_wait = os.waitpid

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        if options & os.WNOHANG or clock.is_guest or clock.peers is None or is_ours(sys._getframe(1)):
            return really_wait(pid, options)
        ended: list[tuple[int, int]] = []

        def has_ended() -> bool:
            result = really_wait(pid, options | os.WNOHANG)
            if result[0]:
                ended.append(result)
            return bool(ended)

        clock.wait(has_ended)
        return ended[0]

    replaced.put(os, "waitpid", waitpid)


def _patch_launch(starts: Starts, kind: Any) -> None:
    launch = kind._launch

    @functools.wraps(launch)
    def launched(popen: Any, process: object) -> None:
        if starts.clock.is_guest or is_ours(sys._getframe(1)):
            launch(popen, process)
            return
        with starts.child(popen) as place:
            if hasattr(popen, "_fds"):
                popen.duplicate_for_child(place.fileno())
            launch(popen, process)

    kind._launch = launched


def _patch_pipes(clock: VirtualClock) -> None:
    kind: Any = connection.Connection
    receive, send = kind._recv, kind._send

    def read(descriptor: int, size: int) -> bytes:
        if clock.peers is not None:
            clock.wait(_ready(descriptor, select.POLLIN))
        return os.read(descriptor, size)

    def write(descriptor: int, data: bytes) -> int:
        if clock.peers is None:
            return os.write(descriptor, data)
        clock.wait(_ready(descriptor, select.POLLOUT))
        return os.write(descriptor, data[:_AT_ONCE])

    def send_bytes(self: object, data: bytes) -> None:
        clock.spend(0)
        send(self, data, write)
        clock.publish()

    kind._recv = lambda self, size: receive(self, size, read)
    kind._send = send_bytes


def _patch_sockets(clock: VirtualClock) -> None:
    for name in ("accept", "recv", "recv_into", "recvfrom", "recvmsg"):
        setattr(socket.socket, name, _receiving(clock, getattr(socket.socket, name)))
    for name in ("send", "sendall", "sendmsg", "sendto"):
        setattr(socket.socket, name, _sending(clock, getattr(socket.socket, name)))


def _receiving(clock: VirtualClock, receive: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(receive)
    def received(self: socket.socket, *arguments: object, **options: object) -> object:
        limit = self.gettimeout()
        if limit != 0 and clock.peers is not None and not clock.is_guest and not is_ours(sys._getframe(1)):
            limit_ns = None if limit is None else round(limit * _NS)
            if not clock.wait(_ready(self.fileno(), select.POLLIN), limit_ns):
                raise TimeoutError("timed out")
        return receive(self, *arguments, **options)

    return received


def _sending(clock: VirtualClock, send: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(send)
    def sent(self: socket.socket, *arguments: object, **options: object) -> object:
        if clock.peers is None or clock.is_guest or is_ours(sys._getframe(1)):
            return send(self, *arguments, **options)
        clock.spend(0)
        result = send(self, *arguments, **options)
        clock.publish()
        return result

    return sent


def _ready(descriptor: int, event: int) -> Callable[[], bool]:
    poll = _poll()
    poll.register(descriptor, event)
    return lambda: bool(poll.poll(0))


def _patch_locks(clock: VirtualClock) -> None:
    kind: Any = synchronize.SemLock
    make_methods = kind._make_methods

    def make(self: Any) -> None:
        make_methods(self)
        lock = self._semlock

        def acquire(block: bool = True, timeout: float | None = None) -> bool:
            if lock.acquire(False):
                return True
            if not block:
                return False
            limit_ns = None if timeout is None else round(max(timeout, 0) * _NS)
            return clock.wait(lambda: lock.acquire(False), limit_ns)

        def release() -> None:
            lock.release()
            clock.publish()

        self.acquire, self.release = acquire, release

    kind._make_methods = make
    kind.__enter__ = lambda self: self.acquire()
    kind.__exit__ = lambda self, *_: self.release()
