"""A process among the others of a run on virtual time: one of them runs at a time, as `_arbiter` says."""

from __future__ import annotations

import array
import json
import math
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

from attrs import define, field

from drynpu import DrynpuError
from drynpu_virtual_time._arbiter import LONGEST

_ARBITER: Final = Path(__file__).with_name("_arbiter.py")
# Before scripts get others, which wait for their turn.
_receive: Final = socket.socket.recv
_send: Final = socket.socket.send
_send_rights: Final = socket.socket.sendmsg
_Result = TypeVar("_Result")

Look = Callable[[int], "int | None"]
"""Says at a time whether this process can go on: when, or ``None`` where it waits for others."""


@define(eq=False)
class Peers:
    """
    The connection of this process to the arbiter.

    The process may go on by itself until ``until_ns``. ``is_first`` says that no process of the run started it.
    ``children`` has the number and the pid of each process that it started.
    """

    place: socket.socket
    is_first: bool = False
    until_ns: float = math.inf
    children: dict[int, int] = field(factory=dict)
    _met: set[str] = field(factory=set)
    _apart: bool = False

    @classmethod
    def first(cls) -> Peers:
        """Start the arbiter, and be its first process."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
            subprocess.Popen(
                [sys.executable, "-I", str(_ARBITER), str(there.fileno())],
                pass_fds=[there.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            ).returncode = 0  # it ends with the last process; nobody waits for it
        return cls(here, is_first=True)

    @classmethod
    def started(cls, place: socket.socket) -> tuple[Peers, int]:
        """Be a process that another one started; return the time as well, when its turn has come."""
        peers = cls(place)
        return peers, peers._listen(None)

    def new_child(self, now_ns: int) -> tuple[int, socket.socket]:
        """Announce a process that is about to start; return its number, and the socket that it gets."""
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with there:
            rights = array.array("i", [there.fileno()])
            message = json.dumps(["child", now_ns]).encode()
            _send_rights(self.place, [message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        (number,) = self._hear()
        # Of two at the same time the first one runs on.
        self.until_ns = min(self.until_ns, now_ns)
        return number, here

    def keep_up(self, now_ns: int) -> int:
        """Let others run that are due before this process; return the time when it goes on."""
        if now_ns > self.until_ns and not self._apart:
            return self._yield(now_ns, now_ns, None, look=False)
        return now_ns

    def publish(self, now_ns: int) -> int:
        """Let others see what this process has just done; return the time when it goes on."""
        return now_ns if self._apart else self._yield(now_ns, now_ns, None, look=True)

    def wait(self, now_ns: int, due_ns: int | None, look: Look) -> int:
        """Wait until *due_ns*, or until *look* says that this process can go on; return the time."""
        return self._yield(now_ns, due_ns, look, look=True)

    def meet(self, now_ns: int, name: str, size: int) -> Callable[[], bool]:
        """Come to a meeting of *size* processes; return what says whether all are there."""
        if self._apart:
            return lambda: True
        self._say("meet", now_ns, name, size)
        (complete,) = self._hear()
        if complete:
            return lambda: True
        return lambda: f"met {name}" in self._met

    def together(self, now_ns: int, name: str, size: int, act: Callable[[], _Result]) -> tuple[_Result, int]:
        """Do something while *size* processes do it at the same time; return its result and the time."""
        self._say("together", now_ns, name, size)
        now_ns = self._listen(None)
        self._apart = True
        try:
            result = act()
        finally:
            self._apart = False
            now_ns = self._yield(now_ns, now_ns, None, look=True)
        return result, now_ns

    def _yield(self, now_ns: int, due_ns: int | None, answer: Look | None, *, look: bool) -> int:
        self._apart, self.until_ns = True, math.inf
        self._say("wait", now_ns, due_ns, look)
        try:
            return self._listen(answer or (lambda _: due_ns))
        finally:
            self._apart = False

    def _listen(self, look: Look | None) -> int:
        """Answer questions until it is the turn of this process; return the time."""
        while True:
            kind, time_ns, until_ns, news = self._hear()
            for line in news:
                self._note(line)
            if kind == "go":
                self.until_ns = math.inf if until_ns is None else until_ns
                return int(time_ns)
            self._say("due", time_ns, look(time_ns) if look is not None else None)

    def _note(self, line: str) -> None:
        what, _, number = line.partition(" ")
        if what != "ended":
            self._met.add(line)
        elif int(number) in self.children:
            # It has closed its files; from now on whoever asks whether it has ended hears that it has.
            os.waitid(os.P_PID, self.children.pop(int(number)), os.WEXITED | os.WNOWAIT)

    def _say(self, *message: object) -> None:
        _send(self.place, json.dumps(message).encode())

    def _hear(self) -> Any:
        text = _receive(self.place, LONGEST)
        if not text:
            raise DrynpuError("virtual time: the program that gives processes their turns has ended")
        return json.loads(text)
