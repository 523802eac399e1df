"""A process among the others of a run on virtual time: one of them runs at a time, as `_arbiter` says."""

from __future__ import annotations

import array
import hashlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from attrs import define, field

from drynpu import DrynpuError
from drynpu_virtual_time._arbiter import LONGEST, SLEEP_S, Message

_ARBITER: Final = Path(__file__).with_name("_arbiter.py")
_LONGEST_NAME: Final = 100
"""Characters of a name that is sent as it is."""
_TO_END_S: Final = 10.0
"""A process that has closed its files ends at once; one that has not after so long runs another program."""
_TO_ACT_S: Final = 0.2
"""So long a signal takes at most until its process has ended or called its handler; assumed."""
_MAY_END: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGABRT)
# Before scripts get others, which wait for their turn.
_receive: Final = socket.socket.recv
_send: Final = socket.socket.send
_send_rights: Final = socket.socket.sendmsg
_really_sleep: Final = time.sleep
_really_now: Final = time.monotonic
_really_waitid: Final = os.waitid
_Result = TypeVar("_Result")

Look = Callable[[int], "int | None"]
"""Says at a time whether this process can go on: when, or ``None`` where it waits for others."""


class LostError(DrynpuError):
    """A meeting that never happens: one that should come has ended."""


@define(eq=False)
class Peers:
    """
    The connection of this process to the arbiter.

    The process may go on by itself until ``until_ns``; ``now_ns`` is when it went on last. ``is_first`` says that no
    process of the run started it. ``children`` has the number and the pid of each process that it started.
    """

    place: socket.socket
    is_first: bool = False
    until_ns: float = math.inf
    now_ns: int = 0
    children: dict[int, int] = field(factory=dict)
    _news: set[str] = field(factory=set)
    _apart: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether this process acts together with others, without turns: its waits are its own then."""
        return self._apart

    @classmethod
    def first(cls) -> Peers:
        """Start the arbiter, and be its first process."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
            # It starts what serves the run, and ends.
            subprocess.run(
                [sys.executable, "-I", str(_ARBITER), str(there.fileno()), str(os.getpid())],
                pass_fds=[there.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                check=True,
            )
        return cls(here, is_first=True)

    @classmethod
    def started(cls, place: socket.socket) -> Peers:
        """Be a process that another one started, when its turn has come."""
        peers = cls(place)
        peers._listen(None)
        peers._say("here", peers.now_ns, os.getpid())
        return peers

    def new_child(self, now_ns: int) -> tuple[int, socket.socket]:
        """Announce a process that is about to start; return its number, and the socket that it gets."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            rights = array.array("i", [there.fileno()])
            message = json.dumps(["child", now_ns]).encode()
            try:
                _send_rights(self.place, [message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            except OSError:
                here.close()
                raise _without_arbiter() from None
        (number,) = self._reply()
        # Of two at the same time the first one runs on.
        self.until_ns = min(self.until_ns, now_ns)
        return number, here

    def await_signal(self, pid: int, number: int) -> None:
        """Wait until a signal that this process has sent has reached a child, so that others see what comes of it."""
        if pid not in self.children.values():
            return
        if number == signal.SIGKILL:
            _until_ended(pid, _TO_END_S)
        elif number in _MAY_END:
            _until_ended(pid, _TO_ACT_S)

    def keep_up(self, now_ns: int) -> None:
        """Let others run that are due before this process."""
        if now_ns > self.until_ns and not self._apart:
            self._yield(now_ns, now_ns, None, look=False)

    def publish(self, now_ns: int) -> None:
        """Let others see what this process has just done."""
        if not self._apart:
            self._yield(now_ns, now_ns, None, look=True)

    def wait(self, now_ns: int, due_ns: int | None, look: Look) -> None:
        """Wait until *due_ns*, or until *look* says that this process can go on."""
        self._yield(now_ns, due_ns, look, look=True)

    def come(self, now_ns: int, name: str, size: int, world: str) -> Callable[[], bool]:
        """
        Come to a meeting of *size* processes of a world; return what says once whether all are there.

        Raises
        ------
        LostError
            From what is returned: they will never be there.
        """
        name, world = _short(f"{world} {name}"), _short(world)
        if self._apart:
            return lambda: True
        self._say("meet", now_ns, name, size, world)
        (complete,) = self._reply()
        return lambda: complete or self._has_met(name)

    def together(self, now_ns: int, name: str, size: int, world: str, act: Callable[[], _Result]) -> _Result:
        """Do something while *size* processes, which have met before, do it at the same time; return its result."""
        name = _short(f"{world} {name} at once")
        self._say("together", now_ns, name, size, _short(world))
        self._listen(None)
        self._has_met(name)
        self._apart = True
        try:
            return act()
        finally:
            self._apart = False
            self._yield(self.now_ns, self.now_ns, None, look=True)

    def _has_met(self, name: str) -> bool:
        if f"lost {name}" in self._news:
            self._news.remove(f"lost {name}")
            raise LostError("virtual time: a process of this run has ended that others wait for")
        if f"met {name}" not in self._news:
            return False
        self._news.remove(f"met {name}")
        return True

    def _yield(self, now_ns: int, due_ns: int | None, answer: Look | None, *, look: bool) -> None:
        self._apart, self.until_ns = True, math.inf
        self._say("wait", now_ns, due_ns, look)
        try:
            self._listen(answer or (lambda _: due_ns))
        finally:
            self._apart = False

    def _listen(self, look: Look | None) -> None:
        """Answer questions until it is the turn of this process; what a handler of signals raises waits, too."""
        interruption: BaseException | None = None
        while True:
            (kind, time_ns, until_ns, news), raised = self._hear_out(interruption)
            interruption = interruption or raised
            for line in news:
                self._note(line)
            if kind == "go":
                self.now_ns = int(time_ns)
                self.until_ns = math.inf if until_ns is None else until_ns
                if interruption is not None:
                    raise interruption
                return
            due_ns = look(time_ns) if look is not None else None
            self._say("due", time_ns, due_ns if interruption is None else time_ns)

    def _reply(self) -> Message:
        reply, interruption = self._hear_out(None)
        if interruption is not None:
            raise interruption
        return reply

    def _hear_out(self, earlier: BaseException | None) -> tuple[Message, BaseException | None]:
        """Return a message, and what a handler of signals raised meanwhile; a second time it ends the wait."""
        interruption = earlier
        while True:
            try:
                return self._hear(), interruption
            except DrynpuError:
                raise
            except BaseException as error:
                if interruption is not None:
                    raise
                interruption = error

    def _note(self, line: str) -> None:
        what, _, number = line.partition(" ")
        if what != "ended":
            self._news.add(line)
        elif int(number) in self.children:
            _until_ended(self.children.pop(int(number)), _TO_END_S)

    def _say(self, *message: object) -> None:
        try:
            _send(self.place, json.dumps(message).encode())
        except OSError:
            raise _without_arbiter() from None

    def _hear(self) -> Message:
        try:
            text = _receive(self.place, LONGEST)
        except ConnectionError:
            text = b""
        if not text:
            raise _without_arbiter()
        message: Message = json.loads(text)
        return message


def _without_arbiter() -> DrynpuError:
    return DrynpuError("virtual time: the program that gives processes their turns has ended")


def _short(name: str) -> str:
    """Return a name that fits into a message with many others."""
    return name if len(name) <= _LONGEST_NAME and name.isascii() else hashlib.sha256(name.encode()).hexdigest()


def _until_ended(pid: int, limit_s: float) -> None:
    """Wait until whoever asks whether a child has ended hears that it has; at most so long, really."""
    end_s = _really_now() + limit_s
    try:
        while _really_waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
            if _really_now() > end_s:
                return
            _really_sleep(SLEEP_S[0])
    except ChildProcessError:  # somebody has asked already
        return
