"""The socket at which a process lets its recordings be started and stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attrs import define, field

from drynpu import OutputError
from drynpu.options import ProfilingRequest
from drynpu.recorder import (
    CollectionCommand,
    ControlClient,
    ControlCommand,
    ControlReply,
    control_socket,
    serve_control,
)


@define
class Process:
    """Remembers what it was asked."""

    heard: list[str] = field(factory=list)
    recording: bool = False

    def accept(self, order: CollectionCommand) -> None:
        self.heard.append(str(order.directory))

    def start(self) -> ControlReply:
        reply = ControlReply.ALREADY_STARTED if self.recording else ControlReply.SUCCESS
        self.recording = True
        self.heard.append("start")
        return reply

    def stop(self) -> ControlReply:
        reply = ControlReply.SUCCESS if self.recording else ControlReply.NOT_STARTED
        self.recording = False
        self.heard.append("stop")
        return reply


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "socket"


def order(tmp_path: Path) -> CollectionCommand:
    return CollectionCommand(request=ProfilingRequest(), directory=Path("out"), journal=tmp_path / "journal")


def connected(place: Path, tmp_path: Path) -> ControlClient:
    client = ControlClient(key=1, path=place)
    assert client.connect(order(tmp_path), 5)
    return client


def test_a_dialogue(place: Path, tmp_path: Path) -> None:
    process = Process()
    serve_control(place, process)
    assert place.stat().st_mode & 0o777 == 0o600
    client = connected(place, tmp_path)
    assert client.alive
    commands = ("stop", "start", "start", "stop", "start", "quit")
    replies = [client.send(ControlCommand(command), 5).value for command in commands]
    assert replies == ["not started", "success", "already started", "success", "success", "success"]
    assert process.heard == ["out", "stop", "start", "start", "stop", "start", "stop"]
    client.close()
    assert not client.alive


def test_a_command_line_that_goes_away_stops_what_it_started(place: Path, tmp_path: Path) -> None:
    process = Process()
    serve_control(place, process)
    client = connected(place, tmp_path)
    assert client.send(ControlCommand.START, 5) is ControlReply.SUCCESS
    client.close()
    deadline = time.monotonic() + 5
    while process.recording and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.recording


def test_one_command_line_at_a_time(place: Path, tmp_path: Path) -> None:
    serve_control(place, Process())
    first = connected(place, tmp_path)
    assert not ControlClient(key=1, path=place).connect(order(tmp_path), 0.2)
    assert first.send(ControlCommand.START, 5) is ControlReply.SUCCESS
    with pytest.raises(OutputError):
        serve_control(place, Process())
    first.close()


@pytest.mark.parametrize("line", [b"\xff\n", b"[]\n", b'{"command": "x"}\n', b'{"order": 7}\n', b"\n", b"{"])
def test_nonsense_ends_the_connection_and_not_the_process(place: Path, tmp_path: Path, line: bytes) -> None:
    process = Process()
    serve_control(place, process)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
        raw.connect(str(place))
        raw.sendall(line)
    client = connected(place, tmp_path)
    assert client.send(ControlCommand.START, 5) is ControlReply.SUCCESS
    client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_path_longer_than_addresses_can_be(tmp_path: Path) -> None:
    folder = tmp_path / ("d" * 120)
    folder.mkdir()
    place = folder / "socket"
    serve_control(place, Process())
    assert place.is_socket()
    connected(place, tmp_path).close()


@pytest.mark.parametrize("place", ["missing/socket", "n" * 300])
def test_a_place_where_no_socket_can_be_is_named(tmp_path: Path, place: str) -> None:
    with pytest.raises(OutputError, match="no socket for commands can be made") as caught:
        serve_control(tmp_path / place, Process())
    assert str(tmp_path / place) in str(caught.value)


def test_without_a_home_there_is_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    with pytest.raises(OutputError, match="set HOME"):
        control_socket(1)


def test_other_users_are_not_served(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process()
    serve_control(place, process)
    monkeypatch.setattr(os, "geteuid", lambda: 4_242_424)
    assert not ControlClient(key=1, path=place).connect(order(tmp_path), 5)
    assert "out" not in process.heard


ENDING = """
import os, sys, time
from pathlib import Path
from drynpu.recorder import serve_control
place = Path(sys.argv[1])
serve_control(place, None)
if not os.fork():
    sys.exit(0)
os.wait()
print(place.is_socket(), flush=True)
if not os.fork():
    os.close(1)
    time.sleep(3)
    os._exit(0)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


@pytest.mark.parametrize("how", ["ended", "killed"])
def test_what_a_process_and_those_it_forked_leave(place: Path, tmp_path: Path, how: str) -> None:
    command = [sys.executable, "-X", "dev", "-c", ENDING, str(place), how]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    assert done.stdout == "True\n"
    assert done.returncode == (0 if how == "ended" else -9)
    assert place.exists() == (how == "killed")
    serve_control(place, Process())  # the forked process that still runs does not hold it
    connected(place, tmp_path).close()


def test_a_socket_left_behind_is_taken_over(place: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as killed:
        killed.bind(str(place))
    serve_control(place, Process())
    connected(place, tmp_path).close()
