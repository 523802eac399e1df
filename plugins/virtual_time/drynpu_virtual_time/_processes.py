"""
Processes of ``multiprocessing``, of ``os.fork`` and of ``torchrun`` live on the clock of the process that starts them.

A wait for another process has to be a wait on the clock: whoever waits otherwise keeps its turn.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from io import BufferedWriter
from multiprocessing import popen_fork, popen_forkserver, popen_spawn_posix, shared_memory, spawn, synchronize
from typing import Any, Final, Literal, Protocol

from attrs import define, field

from drynpu import say_once
from drynpu_virtual_time._clock import VirtualClock
from drynpu_virtual_time._patches import Replaced, is_ours
from drynpu_virtual_time._peers import Peers
from drynpu_virtual_time._threads import must_have_names

_NS: Final = 1_000_000_000
_INNER_NAMES: Final = (
    (popen_fork.Popen, ("_launch",)),
    (popen_spawn_posix.Popen, ("_launch", "duplicate_for_child")),
    (popen_forkserver.Popen, ("_launch",)),
    (spawn, ("get_command_line",)),
    (synchronize.SemLock, ("_make_methods",)),
    (shared_memory.SharedMemory, ("buf",)),
)


_really_wait: Final = os.waitpid
_really_write: Final = os.write
_PIPE_BYTES: Final = 1 << 16
"""What a pipe of Linux takes before somebody reads."""
_OF_RANKS: Final = "torch.distributed.elastic."
"""The modules that start the ranks of ``torchrun``."""


class HasPid(Protocol):
    """What knows the process that it has started."""

    pid: int


@define(eq=False)
class Starts:
    """The process that is about to start, if one is."""

    clock: VirtualClock
    place: socket.socket | None = field(default=None)

    def __attrs_post_init__(self) -> None:
        os.register_at_fork(after_in_child=self._begin)

    @contextlib.contextmanager
    def child(self, popen: HasPid) -> Iterator[socket.socket]:
        """Announce a process, and note its pid when it is there."""
        self.clock.settle()
        if self.clock.peers is None:
            self.clock.peers = Peers.first()
        peers = self.clock.peers
        number, place = peers.new_child(self.clock.now_ns)
        self.place = place
        try:
            with place:
                yield place
        finally:
            self.place = None
        if self.clock.peers is peers:  # a forked process has others
            peers.children[number] = popen.pid

    def _begin(self) -> None:
        """Wait in a forked process for the first turn."""
        place, self.place = self.place, None
        if place is not None:
            descriptor = os.dup(place.fileno())
            place.close()
            self.clock.join_run(Peers.started(socket.socket(fileno=descriptor)))

    def command(self, words: list[str]) -> list[str]:
        """Return the command of a process that is spawned, which begins with its first turn."""
        if self.place is not None and "-c" in words:
            program = words.index("-c") + 1
            first = f"from drynpu_virtual_time.start import go_on; go_on({self.place.fileno()})"
            words[program] = f"{first}; {words[program]}"
        return words


def patch_processes(clock: VirtualClock, replaced: Replaced) -> None:
    """Let processes, and what they share, live on *clock*."""
    # N34, docs/tricks.md
    must_have_names(_INNER_NAMES)
    starts = Starts(clock)
    _patch_launch(starts, popen_fork.Popen)
    _patch_launch(starts, popen_spawn_posix.Popen)
    _name_fork_servers()
    _patch_fork(starts, replaced)
    _patch_ranks(starts)
    vars(popen_spawn_posix)["open"] = _open_to_child
    command_line = spawn.get_command_line

    @functools.wraps(command_line)
    def get_command_line(**options: object) -> list[str]:
        return starts.command(command_line(**options))

    spawn.get_command_line = get_command_line
    _patch_locks(clock)
    _patch_shared_memory(clock)
    _patch_kill(clock, replaced)
    for name in ("waitpid", "wait", "wait3", "wait4", "waitid"):
        _patch_wait(clock, replaced, name)


def _name_fork_servers() -> None:
    """Say of the processes that a fork server starts that they are not on the clock."""
    kind: Any = popen_forkserver.Popen
    launch = kind._launch

    @functools.wraps(launch)
    def launched(popen: object, process: object) -> None:
        say_once("virtual time: processes of a fork server have clocks of their own; start them by fork or spawn")
        launch(popen, process)

    kind._launch = launched


def _open_to_child(descriptor: int, mode: Literal["wb"], *, closefd: bool = True) -> _Writer:
    """Open the pipe to a spawned process, which reads it in C: what does not fit is written beside the turns."""
    file = open(descriptor, mode, closefd=closefd)  # noqa: SIM115 - it is returned

    def write_beside(data: bytes | memoryview) -> int:
        if len(data) <= _PIPE_BYTES:
            return file.write(data)
        _thread.start_new_thread(_write_all, (os.dup(descriptor), bytes(data)))
        return len(data)

    return _Writer(file, write_beside)


@define(eq=False)
class _Writer:
    _file: BufferedWriter
    write: Callable[[bytes | memoryview], int]

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def _write_all(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[_really_write(descriptor, rest) :]
    except BrokenPipeError:  # the process has ended
        return
    finally:
        os.close(descriptor)


def _patch_ranks(starts: Starts) -> None:
    """Let the ranks that ``torchrun`` starts as programs live on the clock."""
    start: Callable[..., None] = subprocess.Popen.__init__

    @functools.wraps(start)
    def started(popen: subprocess.Popen[bytes], args: Sequence[str], *others: object, **options: object) -> None:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        if starts.clock.is_guest or not caller.startswith(_OF_RANKS) or list(args[:2]) != [sys.executable, "-u"]:
            start(popen, args, *others, **options)
            return
        with starts.child(popen) as place:
            command = [*args[:2], "-m", "drynpu_virtual_time.rank", str(place.fileno()), *args[2:]]
            start(popen, command, *others, pass_fds=[place.fileno()], **options)

    subprocess.Popen.__init__ = started  # type: ignore[method-assign, assignment]


@define
class _Forked:
    pid: int = 0


def _patch_fork(starts: Starts, replaced: Replaced) -> None:
    really_fork: Callable[[], int] = vars(os)["fork"]

    def fork() -> int:
        if starts.place is not None or starts.clock.is_guest or is_ours(sys._getframe(1)):
            return really_fork()
        forked = _Forked()
        with starts.child(forked):
            forked.pid = really_fork()
        return forked.pid

    replaced.put(os, "fork", fork)


def _patch_kill(clock: VirtualClock, replaced: Replaced) -> None:
    really_kill = os.kill

    def kill(pid: int, number: int) -> None:
        really_kill(pid, number)
        if clock.peers is not None and not clock.is_guest and not is_ours(sys._getframe(1)):
            clock.peers.await_signal(pid, number)

    replaced.put(os, "kill", kill)


_OPTIONS_LAST: Final = {"waitpid": 1, "wait4": 1, "wait3": 0, "waitid": 2}
"""The place of the options among the arguments."""


def _patch_wait(clock: VirtualClock, replaced: Replaced, name: str) -> None:
    really: Callable[..., object] | None = vars(os).get(name)
    if really is None:
        return
    place = _OPTIONS_LAST.get(name)

    def wait(*arguments: int, **named: int) -> object:
        arguments = (*arguments, *named.values())
        options = 0 if place is None else arguments[place]
        if options & os.WNOHANG or clock.is_guest or clock.peers is None or is_ours(sys._getframe(1)):
            return really(*arguments)
        ended: list[object] = []

        def has_ended() -> bool:
            if place is None:
                result: object = _really_wait(-1, os.WNOHANG)
            else:
                result = really(*arguments[:place], options | os.WNOHANG, *arguments[place + 1 :])
            if isinstance(result, tuple) and (name == "waitid" or result[0]):
                ended.append(result)
            return bool(ended)

        clock.wait(has_ended)
        return ended[0]

    replaced.put(os, name, wait)


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


def _patch_shared_memory(clock: VirtualClock) -> None:
    """Let others that are due before run first where this process is about to use memory that it shares."""
    kind: Any = shared_memory.SharedMemory
    buffer = kind.buf.fget

    def buf(self: object) -> object:
        if clock.peers is not None:
            clock.spend(0)
        return buffer(self)

    kind.buf = property(buf, doc=kind.buf.__doc__)


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
            clock.spend(0)
            lock.release()
            clock.publish()

        self.acquire, self.release = acquire, release

    kind._make_methods = make
    kind.__enter__ = lambda self: self.acquire()
    kind.__exit__ = lambda self, *_: self.release()
