"""``drynpu msprof --dynamic=on``: start, stop and quit, typed while the application runs (cann_msprof.md 6.1)."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import click
import psutil
from attrs import define, field

from drynpu import CommandError
from drynpu.recorder import CollectionCommand, ControlClient, ControlCommand, ControlReply, control_socket
from drynpu_msprof._process import info, warn

_LAUNCH_S, _RETRY_S = 60.0, 0.2
_PARAMETERS_S, _COMMAND_S = 5.0, 60.0
_LOOK_S = 1.0
_IDLE_S = 30 * 60.0
_MOST_COMMANDS = 100
_PIPE_BYTES = 4096
_FAILED = "Running profiling failed. Please check log for more info."
_COMMANDS = {
    "start": ControlCommand.START,
    "stop": ControlCommand.STOP,
    "quit": ControlCommand.QUIT,
    "q": ControlCommand.QUIT,
}
_HELP = (
    "Usage:\n"
    "\t start:                 Start a collection in interactive mode.\n"
    "\t stop:                  Stop a collection that was started in interactive mode.\n"
    "\t quit:                  Stop collection and quit interactive mode."
)
# What the command prints after each reply (hicann/runtime dyn_prof_client.cpp).
_MESSAGES: Mapping[tuple[ControlCommand, ControlReply], str] = {
    (ControlCommand.START, ControlReply.SUCCESS): "start success",
    (ControlCommand.STOP, ControlReply.SUCCESS): "stop success",
    (ControlCommand.QUIT, ControlReply.SUCCESS): "quit success",
    (ControlCommand.START, ControlReply.ALREADY_STARTED): "already started",
    (ControlCommand.STOP, ControlReply.NOT_STARTED): "has not started",
}


def control_by_hand(
    words: Sequence[str], environment: Mapping[str, str], order: CollectionCommand, pids: Sequence[int]
) -> None:
    """
    Start an application, or reach running ones, and do what is typed until ``quit``.

    Parameters
    ----------
    words:
        The application's command; empty for processes that run.
    order:
        What the recordings hold; its ``control`` is where the application listens.
    pids:
        The processes, if there is no application.

    Raises
    ------
    CommandError
        Exit code 1: nothing could be reached.
    """
    info("Start profiling....")
    if not words:
        clients = [client for pid in pids if (client := _attach(pid, order)) is not None]
        if not clients:
            raise CommandError(_FAILED)
        _Prompt(clients=clients).run()
        return
    inherited = {
        name: text for name, text in environment.items() if name not in ("PROFILING_MODE", "PROFILING_OPTIONS")
    }
    try:
        # What is typed is for the prompt.
        application = subprocess.Popen(words, env=inherited, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise CommandError(f"Start profiling failed: {words[0]}: {error.strerror or error}") from error
    client = _reach(application, order)
    if client is None:
        application.kill()
        application.wait()
        raise CommandError(_FAILED)
    _Prompt(clients=[client]).run()
    info("waiting for app process exit......")
    if application.wait():
        warn(f"An exception has occurred in process App, return code: {application.returncode}.")


def _attach(pid: int, order: CollectionCommand) -> ControlClient | None:
    client = ControlClient(key=pid, path=control_socket(pid))
    try:
        served = client.connect(order, _PARAMETERS_S)
    except OSError:
        _error(f"cannot connect to server for pid {pid}, maybe server is closed")
        return None
    if served:
        return client
    _error(f"recv parmas timeout, server for pid {pid} has been connected to another client.")
    return None


def _reach(application: subprocess.Popen[bytes], order: CollectionCommand) -> ControlClient | None:
    """Wait until the application listens, a minute at most; ``None`` if it never does."""
    assert order.control is not None
    client = ControlClient(key=application.pid, path=order.control)
    deadline = time.monotonic() + _LAUNCH_S
    while time.monotonic() < deadline and application.poll() is None:
        try:
            if client.connect(order, _PARAMETERS_S):
                return client
        except OSError:
            time.sleep(_RETRY_S)
    _error(f"cannot connect to server for pid {application.pid}, timeout")
    return None


@define(kw_only=True)
class _Prompt:
    """The dialogue with one or more processes."""

    clients: list[ControlClient]
    _commands: int = field(default=0, init=False)
    _started: set[int] = field(factory=set, init=False)

    def run(self) -> None:
        """Read commands until one quits, the processes are gone, or nothing was started for half an hour."""
        _ask()
        for typed in _typed(self._anyone_there, lambda: bool(self._started)):
            if typed and self._do(typed):
                break
            _ask()
        for client in self.clients:
            client.close()

    def _do(self, typed: str) -> bool:
        """Do what was typed; say whether the dialogue is over."""
        command = _COMMANDS.get(typed)
        if command is None:
            if typed not in ("help", "h"):
                click.echo(f"invalid option -- '{typed}'\n")
            click.echo(_HELP)
            return False
        if command is not ControlCommand.QUIT:
            self._commands += 1
            if self._commands > _MOST_COMMANDS:
                warn(f"more than {_MOST_COMMANDS} commands of start and stop; call the command again.")
                command = ControlCommand.QUIT
        for client in list(self.clients):
            self._tell(client, command)
        return command is ControlCommand.QUIT or not self.clients

    def _tell(self, client: ControlClient, command: ControlCommand) -> None:
        reply = client.send(command, _COMMAND_S)
        message = _MESSAGES.get((command, reply))
        if message is None:
            _error(f"dynamic profiling for pid {client.key} {command.value} failed")
            self._drop(client)
        elif reply is ControlReply.SUCCESS:
            (self._started.add if command is ControlCommand.START else self._started.discard)(client.key)
            click.echo(f"dynamic profiling for pid {client.key} {message}")
        else:
            warn(f"dynamic profiling for pid {client.key} {message}")

    def _anyone_there(self) -> bool:
        for client in list(self.clients):
            if not client.alive or not psutil.pid_exists(client.key):
                click.echo(f"server for pid {client.key} does not exist, Perhaps this process has already exited")
                self._drop(client)
        return bool(self.clients)

    def _drop(self, client: ControlClient) -> None:
        client.close()
        self.clients.remove(client)
        self._started.discard(client.key)


def _typed(anyone_there: Callable[[], bool], recording: Callable[[], bool]) -> Iterator[str]:
    """Yield what is typed, line by line; end with the input, with the processes, or after half an hour of nothing."""
    since = time.monotonic()
    buffer = b""
    while anyone_there():
        try:
            if select.select([sys.stdin], [], [], _LOOK_S)[0]:
                # Not through sys.stdin: lines that wait in its buffer are not seen by select.
                part = os.read(sys.stdin.fileno(), _PIPE_BYTES)
                if not part:
                    return
                *lines, buffer = (buffer + part).split(b"\n")
                for line in lines:
                    yield line.decode(errors="replace").strip()
                since = time.monotonic()
            elif not recording() and time.monotonic() - since > _IDLE_S:
                return
        except KeyboardInterrupt:
            click.echo("Use 'quit' or 'q' to exit dynamic profiling.")


def _ask() -> None:
    click.echo("> ", nl=False)
    sys.stdout.flush()


def _error(text: str) -> None:
    click.echo(f"[ERROR] {text}", err=True)
