"""
Starting and stopping the recordings of a running process: the socket between ``drynpu msprof --dynamic=on`` and it.

The process listens on a socket in the home directory of its user, which the vendor's documentation names
(``dynamic_profiling_socket_<pid>``). Both sides send lines of JSON: first the order, then commands, each answered by
a `ControlReply`. One command line at a time is served; a further one connects and gets no answer. Only the user of the
process is served, whatever the mode of the socket.
"""

from __future__ import annotations

import atexit
import contextlib
import enum
import logging
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import orjson
from attrs import define, field

from drynpu._errors import DrynpuError, OutputError
from drynpu.host import open_files_folder, peer_user
from drynpu.recorder._commands import CollectionCommand

# A line that is longer is no order of ours: its sender is cut off before it fills the memory.
_LONGEST = 1 << 20
_LONGEST_ADDRESS = 103
"""Bytes of a socket's path that every system takes (Linux takes 107)."""
_ORDER = "order"
_LOG = logging.getLogger("drynpu")


class ControlCommand(enum.Enum):
    """A command to a process that is being profiled."""

    START = "start"
    STOP = "stop"
    QUIT = "quit"


class ControlReply(enum.Enum):
    """The result of a command."""

    SUCCESS = "success"
    ALREADY_STARTED = "already started"
    NOT_STARTED = "not started"
    FAILED = "failed"


class Controllable(Protocol):
    """A process that is told to start and stop; its methods are called on the thread that serves the socket."""

    def accept(self, order: CollectionCommand) -> None:
        """Keep the order, which says what the next recordings hold and where they go."""

    def start(self) -> ControlReply:
        """Start a recording."""

    def stop(self) -> ControlReply:
        """Stop the recording and write it."""


def at_process_end(work: Callable[[], object]) -> None:
    """Have *work* done when this process ends; processes that are forked off leave it to this one."""
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            work()

    atexit.register(end)


def control_socket(key: int) -> Path:
    """
    Return the socket of a process, or of the command that started it: *key* is the id of either.

    Raises
    ------
    OutputError
        The user has no home directory.
    """
    try:
        return Path.home() / f"dynamic_profiling_socket_{key}"
    except RuntimeError as error:
        raise OutputError(f"no place for the socket of process {key}: set HOME; {error}") from error


@contextlib.contextmanager
def _address(path: Path) -> Iterator[str]:
    """Give the address of a socket, by way of its open directory where its path is longer than addresses can be."""
    open_files = open_files_folder()
    if len(os.fsencode(path)) <= _LONGEST_ADDRESS or open_files is None:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield str(open_files / str(directory) / path.name)
    finally:
        os.close(directory)


def serve_control(path: Path, controllable: Controllable) -> None:
    """
    Listen at *path* in a thread of its own, until the process ends; then the socket is closed and removed.

    Processes that are forked off do not listen. A process that is killed leaves the file, which the next one of that
    id takes over.

    Raises
    ------
    OutputError
        There is a listener already, or no socket can be made there.
    """
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _address(path) as address:
            if not _is_served(address):
                path.unlink(missing_ok=True)  # left by a process that was killed
            listener.bind(address)
        path.chmod(0o600)
        listener.listen(1)
    except OSError as error:
        listener.close()
        raise OutputError(f"{path}: no socket for commands can be made: {error.strerror or error}") from error
    os.register_at_fork(after_in_child=listener.close)
    at_process_end(lambda: _remove(path, listener))
    threading.Thread(target=_serve, args=(listener, controllable), name="drynpu-control", daemon=True).start()


def _remove(path: Path, listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
    with contextlib.suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for a command line
    listener.close()


def _is_served(address: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(address)
        except OSError:
            return False
    return True


def _is_same_user(connection: socket.socket) -> bool:
    """Whether the other side belongs to the user of this process; True where the system does not tell."""
    return peer_user(connection) in (None, os.geteuid())


def _serve(listener: socket.socket, controllable: Controllable) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        try:
            with connection, connection.makefile("rb") as lines:
                if _is_same_user(connection):
                    _attend(connection, lines.readline, controllable)
        except Exception as error:  # noqa: BLE001 - the application goes on, whatever is sent to it
            _LOG.warning("a command could not be carried out: %s", error)
        finally:
            # Nobody is left to stop it.
            with contextlib.suppress(DrynpuError):
                controllable.stop()


def _attend(connection: socket.socket, next_line: Callable[[int], bytes], controllable: Controllable) -> None:
    """Answer one command line until it quits or goes away."""
    calls = {ControlCommand.START: controllable.start, ControlCommand.STOP: controllable.stop}
    ordered = False
    while True:
        line = next_line(_LONGEST)
        if not line:
            return
        document = orjson.loads(line)
        if _ORDER in document:
            controllable.accept(CollectionCommand.from_text(document[_ORDER]))
            ordered, reply = True, ControlReply.SUCCESS
        elif (command := ControlCommand(document["command"])) is ControlCommand.QUIT:
            reply = ControlReply.FAILED if controllable.stop() is ControlReply.FAILED else ControlReply.SUCCESS
        else:
            reply = calls[command]() if ordered else ControlReply.FAILED
        connection.sendall(orjson.dumps({"reply": reply.value}) + b"\n")


@define(kw_only=True)
class ControlClient:
    """The command's side of one connection."""

    key: int
    """Process id that messages name."""
    path: Path
    _socket: socket.socket | None = field(default=None, init=False)

    def connect(self, order: CollectionCommand, timeout_s: float) -> bool:
        """
        Connect and hand over the order; return False if the process is there and answers somebody else.

        Raises
        ------
        OSError
            There is no process that listens.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_s)
            with _address(self.path) as address:
                connection.connect(address)
        except OSError:
            connection.close()
            raise
        self._socket = connection
        served = self._exchange({_ORDER: order.to_text()}) is ControlReply.SUCCESS
        if not served:
            self.close()
        return served

    def send(self, command: ControlCommand, timeout_s: float) -> ControlReply:
        """Send a command; the reply is `ControlReply.FAILED` also when none comes in time."""
        if self._socket is None:
            return ControlReply.FAILED
        self._socket.settimeout(timeout_s)
        return self._exchange({"command": command.value})

    def close(self) -> None:
        """Hang up; the process stops what was started."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    @property
    def alive(self) -> bool:
        """Whether the process still holds the connection."""
        if self._socket is None:
            return False
        # Nothing is ever sent unasked: what can be read is the end.
        return not select.select([self._socket], [], [], 0)[0]

    def _exchange(self, document: object) -> ControlReply:
        assert self._socket is not None
        try:
            self._socket.sendall(orjson.dumps(document) + b"\n")
            received = b""
            while not received.endswith(b"\n"):
                part = self._socket.recv(4096)
                if not part or len(received) > _LONGEST:
                    return ControlReply.FAILED
                received += part
            return ControlReply(orjson.loads(received)["reply"])
        except (OSError, ValueError, KeyError, TypeError):
            return ControlReply.FAILED
