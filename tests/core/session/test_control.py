"""The socket at which a process lets its recordings be started and stopped."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest
from attrs import define, field

from drynpu import OutputError
from drynpu.options import ProfilingRequest
from drynpu.session import Answer, CollectionOrder, ControlClient, Wish, serve_control


@define
class Process:
    """Remembers what it was asked."""

    heard: list[str] = field(factory=list)
    recording: bool = False

    def take(self, order: CollectionOrder) -> None:
        self.heard.append(str(order.directory))

    def start(self) -> Answer:
        answer = Answer.ALREADY_STARTED if self.recording else Answer.SUCCESS
        self.recording = True
        self.heard.append("start")
        return answer

    def stop(self) -> Answer:
        answer = Answer.SUCCESS if self.recording else Answer.NOT_STARTED
        self.recording = False
        self.heard.append("stop")
        return answer


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "socket"


def order(tmp_path: Path) -> CollectionOrder:
    return CollectionOrder(request=ProfilingRequest(), directory=Path("out"), journal=tmp_path / "journal")


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
    answers = [client.ask(wish, 5) for wish in (Wish.STOP, Wish.START, Wish.START, Wish.STOP, Wish.START, Wish.QUIT)]
    assert [answer.value for answer in answers] == [
        "not started",
        "success",
        "already started",
        "success",
        "success",
        "success",
    ]
    assert process.heard == ["out", "stop", "start", "start", "stop", "start", "stop"]
    client.close()
    assert not client.alive


def test_a_command_line_that_goes_away_stops_what_it_started(place: Path, tmp_path: Path) -> None:
    process = Process()
    serve_control(place, process)
    client = connected(place, tmp_path)
    assert client.ask(Wish.START, 5) is Answer.SUCCESS
    client.close()
    deadline = time.monotonic() + 5
    while process.recording and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not process.recording


def test_one_command_line_at_a_time(place: Path, tmp_path: Path) -> None:
    serve_control(place, Process())
    first = connected(place, tmp_path)
    assert not ControlClient(key=1, path=place).connect(order(tmp_path), 0.2)
    assert first.ask(Wish.START, 5) is Answer.SUCCESS
    with pytest.raises(OutputError):
        serve_control(place, Process())
    first.close()


@pytest.mark.parametrize("line", [b"\xff\n", b"[]\n", b'{"wish": "x"}\n', b'{"order": 7}\n', b"\n", b"{"])
def test_nonsense_ends_the_connection_and_not_the_process(place: Path, tmp_path: Path, line: bytes) -> None:
    process = Process()
    serve_control(place, process)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
        raw.connect(str(place))
        raw.sendall(line)
    client = connected(place, tmp_path)
    assert client.ask(Wish.START, 5) is Answer.SUCCESS
    client.close()


def test_a_socket_left_behind_is_taken_over(place: Path, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as killed:
        killed.bind(str(place))
    serve_control(place, Process())
    connected(place, tmp_path).close()
