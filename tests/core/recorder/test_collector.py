"""What ``drynpu msprof`` has a process do: at once, in a window of time, by command."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, evolve, field

from drynpu import CaptureError, OutputError
from drynpu.options import ProfilingRequest
from drynpu.recorder import (
    CollectionCommand,
    CollectionReport,
    Collector,
    ControlClient,
    ControlCommand,
    ControlReply,
)


@define
class Adapter:
    """Remembers what it did; ``failing`` names what raises, ``busy`` refuses to begin."""

    done: list[str] = field(factory=list)
    failing: str = ""
    busy: bool = False
    late: bool = False

    def begin(self, command: CollectionCommand) -> bool:
        if self.failing == "begin":
            raise CaptureError("another recording is running")
        if not self.busy:
            self.done.append(f"begin {command.directory}")
        return not self.busy

    def end(self) -> CollectionReport | None:
        self.done.append("end")
        if self.failing == "end":
            raise OutputError("the disk is full")
        return CollectionReport(path=Path(f"PROF_{len(self.done)}"), notes=("one note",))

    def call(self, work: Callable[[], Any], timeout_s: float | None = None) -> Any:
        if self.late and timeout_s is not None:
            raise TimeoutError
        return work()


@define
class Case:
    command: CollectionCommand
    adapter: Adapter = field(factory=Adapter)
    warnings: list[str] = field(factory=list)

    @property
    def collector(self) -> Collector:
        return Collector(self.adapter, self.warnings.append)

    def window(self, **window: int) -> CollectionCommand:
        request = self.command.request
        return evolve(self.command, request=evolve(request, window=evolve(request.window, **window)))


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(
        CollectionCommand(
            request=ProfilingRequest(),
            directory=Path("out"),
            journal=tmp_path / "journal",
            launched_ns=time.time_ns(),
        )
    )


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert condition()


def test_the_whole_of_a_process(case: Case) -> None:
    collector = case.collector
    collector.follow(case.command)
    assert case.adapter.done == ["begin out"]
    collector.finish()
    collector.finish()
    assert case.adapter.done == ["begin out", "end"]
    assert case.command.reports() == [CollectionReport(path=Path("PROF_2"), notes=("one note",))]


def test_a_window_begins_late_counted_from_the_launch_and_ends_by_itself(case: Case) -> None:
    command = evolve(case.window(delay_s=3, duration_s=1), launched_ns=time.time_ns() - 2_900_000_000)
    case.collector.follow(command)
    assert case.adapter.done == []
    until(lambda: case.adapter.done == ["begin out"])
    until(lambda: len(command.reports()) == 1)
    assert case.adapter.done == ["begin out", "end"]


def test_a_process_that_ends_before_its_window_leaves_nothing(case: Case) -> None:
    collector = case.collector
    collector.follow(case.window(delay_s=1000))
    collector.finish()
    assert case.adapter.done == []
    assert case.command.reports() == []


@pytest.mark.parametrize(
    ("failing", "message"), [("begin", "another recording is running"), ("end", "the disk is full")]
)
def test_what_fails_is_reported_to_whoever_gave_the_order(case: Case, failing: str, message: str) -> None:
    case.adapter.failing = failing
    collector = case.collector
    collector.accept(case.command)
    replies = (collector.start(), collector.stop())
    expected = {
        "begin": (ControlReply.FAILED, ControlReply.NOT_STARTED),
        "end": (ControlReply.SUCCESS, ControlReply.FAILED),
    }
    assert replies == expected[failing]
    assert case.command.reports() == [CollectionReport(notes=(message,))]


def test_replies_to_commands(case: Case) -> None:
    collector = case.collector
    assert collector.start() is ControlReply.FAILED, "nobody has said what to record"
    collector.accept(case.command)
    assert collector.stop() is ControlReply.NOT_STARTED
    assert collector.start() is ControlReply.SUCCESS
    assert collector.start() is ControlReply.ALREADY_STARTED
    assert collector.stop() is ControlReply.SUCCESS
    case.adapter.busy = True
    assert collector.start() is ControlReply.FAILED, "something else has the process"
    case.adapter.busy, case.adapter.late = False, True
    assert collector.start() is ControlReply.FAILED, "the thread that records did not come by"
    case.adapter.late = False
    collector.finish()
    assert collector.start() is ControlReply.FAILED, "the process ends"
    assert case.adapter.done == ["begin out", "end"]


def test_a_journal_that_cannot_be_written_is_a_warning(case: Case) -> None:
    case.command.journal.mkdir()
    collector = case.collector
    collector.accept(case.command)
    assert collector.start() is ControlReply.SUCCESS
    assert collector.stop() is ControlReply.FAILED
    (warning,) = case.warnings
    assert str(case.command.journal) in warning


def test_commands_come_by_the_socket_of_the_first_process_alone(case: Case, tmp_path: Path) -> None:
    command = evolve(case.command, control=tmp_path / "socket")
    first, second = case.collector, case.collector
    first.follow(command)
    second.follow(command)
    assert (first.listening, second.listening) == (True, False)
    client = ControlClient(key=1, path=tmp_path / "socket")
    assert client.connect(command, 5)
    assert client.send(ControlCommand.START, 5) is ControlReply.SUCCESS
    client.close()
    until(lambda: case.adapter.done == ["begin out", "end"])
    first.finish()
    assert not first.listening
    first.follow(command)
    assert first.listening, "a library that begins again has its socket still"


def test_a_socket_that_cannot_be_made_is_a_warning(case: Case, tmp_path: Path) -> None:
    collector = case.collector
    assert not collector.listen(tmp_path / "missing" / "socket")
    assert not collector.listening
    (warning,) = case.warnings
    assert "no socket for commands can be made" in warning
