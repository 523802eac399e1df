"""What gives processes their turns, with processes that a test plays by hand."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from drynpu import DrynpuError
from drynpu_virtual_time._arbiter import LONGEST, Arbiter, Member
from drynpu_virtual_time._peers import LostError, Peers


class Run:
    """An arbiter in a thread, whose first process is the test."""

    def __init__(self, patience_s: float = 30.0) -> None:
        self.here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        arbiter = Arbiter({0: Member(0, -1, there, 0, pid=os.getpid())}, patience_s=patience_s)
        self.thread = threading.Thread(target=arbiter.run)
        self.thread.start()
        self.first = Peers(self.here, is_first=True)
        self.places: list[socket.socket] = [self.here]

    def child(self, now_ns: int = 0) -> socket.socket:
        """Return the place of a new process, which the test plays by messages."""
        _, place = self.first.new_child(now_ns)
        place.settimeout(20)
        self.places.append(place)
        return place

    def end(self) -> bool:
        """End all processes; return whether the arbiter has ended, too."""
        for place in self.places:
            place.close()
        self.thread.join(20)
        return not self.thread.is_alive()


@pytest.fixture
def run() -> Iterator[Run]:
    played = Run()
    yield played
    assert played.end()


def _in_thread(wait: Callable[[], object]) -> threading.Thread:
    """Return a thread in which a process waits, at most until the arbiter has ended."""

    def waiting() -> None:
        with contextlib.suppress(DrynpuError, OSError):
            wait()

    thread = threading.Thread(target=waiting)
    thread.start()
    return thread


def _say(place: socket.socket, *message: object) -> None:
    place.send(json.dumps(message).encode())


def _hear(place: socket.socket) -> Any:
    return json.loads(place.recv(LONGEST))


def test_the_arbiter_ends_with_processes_that_were_killed_while_they_waited_to_act_together(run: Run) -> None:
    child = run.child()
    waits = _in_thread(lambda: run.first.wait(0, 1000, lambda _: 1000))
    assert _hear(child)[0] == "go"
    _say(child, "together", 0, "world init at once", 2, "world")
    waits.join(20)
    # Nobody else comes, and both end without a word.
    assert run.end()


def test_a_meeting_that_too_few_are_left_for_is_lost_and_says_so(run: Run) -> None:
    ranks = [run.child(), run.child()]
    here = _in_thread(lambda: run.first.wait(0, None, lambda _: None))
    assert _hear(ranks[0])[0] == "go"
    _say(ranks[0], "meet", 0, "world group 1", 2, "world")
    assert _hear(ranks[0]) == [False]
    _say(ranks[0], "wait", 0, None, True)
    answers: list[Any] = []

    def answer() -> None:
        while (message := _hear(ranks[0]))[0] == "look":
            answers.append(message)
            _say(ranks[0], "due", 0, 0 if message[3] else None)
        answers.append(message)

    answering = threading.Thread(target=answer)
    answering.start()
    assert _hear(ranks[1])[0] == "go"
    ranks[1].close()
    answering.join(20)
    assert answers[-1][0] == "go"
    assert [line for message in answers for line in message[3]] == ["lost world group 1"]
    assert run.end()
    here.join(20)


def test_news_of_very_many_processes_come_in_messages_that_fit() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    member = Member(0, -1, there, 0, news=[f"met {'x' * 100} {number}" for number in range(1200)])
    heard = []
    with here, there:
        for _ in range(3):
            member.tell("look", 0, None, member.take_news())
            heard += _hear(here)[3]
    assert [line.rpartition(" ")[2] for line in heard] == [str(number) for number in range(1200)]


def test_names_of_meetings_are_short_and_are_forgotten_when_all_have_met(run: Run) -> None:
    place = run.child()
    ready = run.first.come(0, "group " + "1," * 5000, 2, "tcp://" + "x" * 5000)
    assert not ready()
    _in_thread(lambda: _comes(place))
    run.first.wait(0, None, lambda _: 5 if ready() else None)
    assert run.first._news == set()


def _comes(place: socket.socket) -> None:
    """Play a process that comes to the same meeting."""
    peers = Peers(place)
    peers._listen(None)
    peers.come(0, "group " + "1," * 5000, 2, "tcp://" + "x" * 5000)
    peers.wait(0, None, lambda _: None)


def test_a_process_whose_arbiter_has_ended_hears_of_it_whatever_it_does() -> None:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    there.close()
    with here:
        peers = Peers(here)
        for call in (lambda: peers.publish(0), lambda: peers.wait(0, None, lambda _: None), lambda: peers.new_child(0)):
            with pytest.raises(DrynpuError, match="has ended"):
                call()


def test_a_lost_meeting_raises_once(run: Run) -> None:
    ready = run.first.come(0, "group 1", 2, "world")
    run.first._note("lost world group 1")
    with pytest.raises(LostError):
        ready()
    assert not ready()


def test_a_process_that_waits_in_c_while_others_have_no_turn_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    run = Run(patience_s=0.2)
    child = run.child()
    waits = _in_thread(lambda: run.first.wait(0, None, lambda _: None))
    assert _hear(child)[0] == "go"
    # A process that sleeps stands for one whose call waits.
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        _say(child, "here", 0, sleeper.pid)
        said = ""
        while "outside of the clock" not in said:
            said += capfd.readouterr().err
        sleeper.kill()
    assert f"process {sleeper.pid} waits" in said
    assert run.end()
    waits.join(20)
