"""
Says which process of a run on virtual time goes on: a program, which the first process that starts another one runs.

    python _arbiter.py SOCKET

SOCKET is the descriptor of a socket to the first process; the socket to another one comes with the message about it.
One process runs at a time, the one whose next event is the earliest; of two, the one that was started first. So what a
process reads was written before, in virtual time as well, and the order of everything follows from the scripts alone.
Messages are lists in JSON, the first element says what they are.
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any, Final

from attrs import define, field

LONGEST: Final = 4096
"""Bytes of a message at most."""
SLEEP_S: Final = (0.0005, 0.02)
"""How long a process really sleeps between two looks, at first and at most, where only the machine can go on."""


@define(eq=False)
class Member:
    """
    A process.

    ``due_ns`` is when it goes on, ``None`` where it waits for others; one that is ``apart`` has no turns until it acts
    together with others.
    """

    number: int
    parent: int
    place: socket.socket
    due_ns: int | None
    apart: bool = False
    news: list[str] = field(factory=list)
    came: list[int] = field(factory=list)

    def tell(self, *message: object) -> None:
        """Send a message; one that has gone does not get it."""
        try:
            self.place.send(json.dumps(message).encode())
        except OSError:
            return

    def hear(self) -> list[Any] | None:
        """Wait for the next message; ``None`` where the process has ended."""
        try:
            text, descriptors, *_ = socket.recv_fds(self.place, LONGEST, 1)
        except OSError:
            return None
        self.came += descriptors
        return json.loads(text) if text else None

    def take_news(self) -> list[str]:
        """Return what has happened since the last time, and forget it."""
        news, self.news = self.news, []
        return news


@define(eq=False)
class Meeting:
    """Processes that wait for each other under a name."""

    size: int
    members: list[Member] = field(factory=list)


@define(eq=False)
class Arbiter:
    """The state of a run: its processes, its time, and which one goes on."""

    members: dict[int, Member]
    now_ns: int = 0
    _count: int = 1
    _meetings: dict[str, Meeting] = field(factory=dict)

    def run(self) -> None:
        """Let the processes go on in turn, until the last one has ended."""
        running: Member | None = self.members[0]
        while running is not None:
            message = running.hear()
            if message is None:
                self._end(running)
                running = self._choose(None)
                continue
            kind, now_ns, *rest = message
            self.now_ns = max(self.now_ns, now_ns)
            if kind == "wait":
                running.due_ns = rest[0]
                running = self._choose(running, look=rest[1])
            elif kind == "together":
                running = self._meet_and_act(running, *rest)
            else:
                self._answer(running, kind, rest)

    def _answer(self, member: Member, kind: str, rest: list[Any]) -> None:
        """Answer what does not end a turn."""
        if kind == "child":
            child = Member(self._count, member.number, socket.socket(fileno=member.came.pop()), self.now_ns)
            self._count += 1
            self.members[child.number] = child
            member.tell(child.number)
        elif kind == "meet":
            meeting = self._join(member, *rest)
            member.tell(meeting is not None)
            for other in meeting.members if meeting else ():
                if other is not member:
                    other.news.append(f"met {rest[0]}")

    def _join(self, member: Member, name: str, size: int) -> Meeting | None:
        """Add a process to a meeting; return the meeting once all are there."""
        meeting = self._meetings.setdefault(name, Meeting(size))
        meeting.members.append(member)
        return self._meetings.pop(name) if len(meeting.members) >= meeting.size else None

    def _meet_and_act(self, member: Member, name: str, size: int) -> Member | None:
        """Let processes wait for each other, then act at the same time without turns, until all are done."""
        member.due_ns, member.apart = None, True
        meeting = self._join(member, name, size)
        if meeting is None:
            return self._choose(member)
        for each in meeting.members:
            each.apart = False
            each.tell("go", self.now_ns, None, each.take_news())
        for each in meeting.members:
            message = each.hear()
            if message is None:
                self._end(each)
            else:
                each.due_ns = message[2]
        return self._choose(None)

    def _end(self, member: Member) -> None:
        """Forget a process that has ended; the one that started it may see that."""
        self.members.pop(member.number, None)
        member.place.close()
        if member.parent in self.members:
            self.members[member.parent].news.append(f"ended {member.number}")

    def _choose(self, last: Member | None, *, look: bool = True) -> Member | None:
        """Return the process that goes on, and tell it; *last* has just said when it does."""
        delay_s = SLEEP_S[0]
        others: Iterable[Member] = [each for each in self.members.values() if each is not last]
        while self.members:
            if look:
                for each in others:
                    self._ask(each)
            order = sorted((each.due_ns, each.number) for each in self.members.values() if each.due_ns is not None)
            if order:
                return self._start(self.members[order[0][1]], order[1:])
            # Only the machine can end this wait: a program, a socket to the outside.
            time.sleep(delay_s)
            delay_s = min(2 * delay_s, SLEEP_S[1])
            look, others = True, list(self.members.values())
        return None

    def _ask(self, member: Member) -> None:
        """Ask a process that waits whether it can go on now."""
        if member.apart or (member.due_ns is not None and member.due_ns <= self.now_ns):
            return
        member.tell("look", self.now_ns, None, member.take_news())
        message = member.hear()
        if message is None:
            self._end(member)
        else:
            member.due_ns = message[2]

    def _start(self, member: Member, others: list[tuple[Any, int]]) -> Member:
        """Let a process go on until the next one is due."""
        due_ns = member.due_ns or 0
        # Of two at the same time the one with the smaller number goes on.
        until_ns = others[0][0] - (others[0][1] < member.number) if others else None
        self.now_ns = max(self.now_ns, due_ns)
        member.tell("go", due_ns, until_ns, member.take_news())
        return member


def main() -> None:
    """Serve the run whose first process is at the other end of the socket that the argument names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = socket.socket(fileno=int(sys.argv[1]))
    Arbiter({0: Member(0, -1, first, 0)}).run()


if __name__ == "__main__":
    main()
