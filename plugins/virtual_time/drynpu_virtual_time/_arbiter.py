"""
Says which process of a run on virtual time goes on: a program, which the first process that starts another one runs.

    python _arbiter.py SOCKET PID

SOCKET is the descriptor of a socket to the first process, PID its number; the socket to another one comes with the
message about it. One process runs at a time, the one whose next event is the earliest; of two, the one that was started
first. So what a process reads was written before, in virtual time as well, and the order of everything follows from the
scripts alone. Messages are lists in JSON, the first element says what they are.
"""

from __future__ import annotations

import json
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from attrs import define, field

Message: TypeAlias = list[Any]
"""What it is, and what belongs to it."""
LONGEST: Final = 1 << 16
"""Bytes of a message at most: a socket takes several such at once."""
_MOST_NEWS: Final = 500
"""Lines in a message at most; each has fewer bytes than a hundredth of the longest message."""
SLEEP_S: Final = (0.0005, 0.02)
"""How long a process really sleeps between two looks, at first and at most, where only the machine can go on."""
_SILENCE_S: Final = 30.0
"""After so long without a sign a process that used no processor is said to wait outside of the clock."""

_WAITS_OUTSIDE: Final = (
    "drynpu: virtual time: process {} waits outside of the clock (for a call in C, a program, the network); "
    "the others of the run have no turn meanwhile\n"
)


@define(eq=False)
class Member:
    """
    A process.

    ``due_ns`` is when it goes on, ``None`` where it waits for others; one that is ``apart`` has no turns until it acts
    together with others. ``pid`` is 0 as long as it has not said it.
    """

    number: int
    parent: int
    place: socket.socket
    due_ns: int | None
    pid: int = 0
    apart: bool = False
    news: list[str] = field(factory=list)
    came: list[int] = field(factory=list)

    def tell(self, *message: object) -> None:
        """Send a message; one that has gone does not get it."""
        try:
            self.place.send(json.dumps(message).encode())
        except OSError:
            return

    def hear(self) -> Message | None:
        """Wait for the next message; ``None`` where the process has ended."""
        try:
            text, descriptors, *_ = socket.recv_fds(self.place, LONGEST, 1)
        except OSError:
            return None
        self.came += descriptors
        return json.loads(text) if text else None

    def is_silent(self, seconds: float) -> bool:
        """Return whether nothing comes for so long."""
        poll = select.poll()
        poll.register(self.place, select.POLLIN)
        return not poll.poll(round(1000 * seconds))

    def has_gone(self) -> bool:
        """Return whether the process has ended, without a wait; nothing that it has said is lost."""
        try:
            return not self.place.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def take_news(self) -> list[str]:
        """Return what has happened since the last time, and forget it; the rest of very much comes later."""
        news, self.news = self.news[:_MOST_NEWS], self.news[_MOST_NEWS:]
        return news


@define(eq=False)
class Meeting:
    """Processes that wait for each other under a name; they belong to a world."""

    name: str
    size: int
    world: str
    members: list[Member] = field(factory=list)


@define(eq=False)
class Arbiter:
    """The state of a run: its processes, its time, and which one goes on. ``patience_s`` is as `_SILENCE_S`."""

    members: dict[int, Member]
    now_ns: int = 0
    patience_s: float = _SILENCE_S
    _count: int = 1
    _meetings: dict[str, Meeting] = field(factory=dict)
    _worlds: dict[str, set[int]] = field(factory=dict)

    def run(self) -> None:
        """Let the processes go on in turn, until the last one has ended."""
        running: Member | None = self.members[0]
        while running is not None:
            message = self._hear(running)
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

    def _hear(self, running: Member) -> Message | None:
        """Wait for what the process says that has its turn; say if it seems to wait for one that has none."""
        used: float | None = None
        while len(self.members) > 1 and running.is_silent(self.patience_s):
            before, used = used, processor_s(running.pid)
            if used is not None and used == before:
                sys.stderr.write(_WAITS_OUTSIDE.format(running.pid))
                sys.stderr.flush()
                break
        return running.hear()

    def _answer(self, member: Member, kind: str, rest: Message) -> None:
        """Answer what does not end a turn."""
        if kind == "here":
            member.pid = rest[0]
        elif kind == "child":
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

    def _join(self, member: Member, name: str, size: int, world: str) -> Meeting | None:
        """Add a process to a meeting; return the meeting once all are there."""
        meeting = self._meetings.setdefault(name, Meeting(name, size, world))
        meeting.members.append(member)
        return self._meetings.pop(name) if len(meeting.members) >= meeting.size else None

    def _meet_and_act(self, member: Member, name: str, size: int, world: str) -> Member | None:
        """Let processes wait for each other, then act at the same time without turns, until all are done."""
        member.due_ns, member.apart = None, True
        meeting = self._join(member, name, size, world)
        if meeting is None:
            return self._choose(member)
        numbers = {each.number for each in meeting.members}
        if len(numbers) >= len(self._worlds.get(world, ())):
            self._worlds[world] = numbers
        for each in meeting.members:
            each.apart = False
            each.tell("go", self.now_ns, None, [*each.take_news(), f"met {name}"])
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
        for meeting in self._meetings.values():
            meeting.members = [each for each in meeting.members if each is not member]
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
            if not self._give_up():
                # Only the machine can end this wait: a program, a socket to the outside.
                time.sleep(delay_s)
                delay_s = min(2 * delay_s, SLEEP_S[1])
            look, others = True, list(self.members.values())
        return None

    def _give_up(self) -> bool:
        """Tell processes whose meeting lacks one that has ended, as nobody goes on; return whether there are any."""
        lost = [meeting for meeting in self._meetings.values() if self._is_lost(meeting)]
        for meeting in lost:
            del self._meetings[meeting.name]
            for member in meeting.members:
                member.news.append(f"lost {meeting.name}")
                if member.apart:
                    member.apart, member.due_ns = False, self.now_ns
        return bool(lost)

    def _is_lost(self, meeting: Meeting) -> bool:
        """Return whether one of its world has ended, or too few are left that could come; the first one does not."""
        if self._worlds.get(meeting.world, set()) - self.members.keys():
            return True
        free = [each for each in self.members.values() if each.number and each not in meeting.members]
        return len(meeting.members) + len(free) < meeting.size

    def _ask(self, member: Member) -> None:
        """Ask a process that waits whether it can go on now."""
        if member.apart:
            if member.has_gone():
                self._end(member)
            return
        if member.due_ns is not None and member.due_ns <= self.now_ns:
            return
        member.tell("look", self.now_ns, None, member.take_news())
        message = member.hear()
        if message is None:
            self._end(member)
        else:
            member.due_ns = message[2]

    def _start(self, member: Member, others: list[tuple[int, int]]) -> Member:
        """Let a process go on until the next one is due."""
        due_ns = member.due_ns or 0
        # Of two at the same time the one with the smaller number goes on.
        until_ns = others[0][0] - (others[0][1] < member.number) if others else None
        self.now_ns = max(self.now_ns, due_ns)
        member.tell("go", due_ns, until_ns, member.take_news())
        return member


def processor_s(pid: int) -> float | None:
    """Return how long a process has used a processor; ``None`` where that is not known."""
    import psutil  # few runs need it

    try:
        times = psutil.Process(pid).cpu_times()
    except (psutil.Error, ValueError):
        return None
    return float(times.user + times.system)


def main() -> None:
    """Serve the run whose first process is at the other end of the socket that the first argument names."""
    place, pid, *is_served = sys.argv[1:]
    if not is_served:
        # The script has no child that it does not know, so that its os.wait() ends.
        command = [sys.executable, "-I", __file__, place, pid, "served"]
        subprocess.Popen(command, pass_fds=[int(place)]).returncode = 0
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = socket.socket(fileno=int(place))
    Arbiter({0: Member(0, -1, first, 0, pid=int(pid))}).run()


if __name__ == "__main__":
    main()
