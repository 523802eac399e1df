"""Recordings of a process from outside: the whole of it, a window of it, or what commands start and stop."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from attrs import define, field

from drynpu._errors import DrynpuError
from drynpu.recorder._commands import CollectionCommand, CollectionReport
from drynpu.recorder._control import ControlReply, control_socket, serve_control

_PATIENCE_S = 50.0
"""How long a command waits for the thread that records; the command line waits longer."""


class Collected(Protocol):
    """The part of a `Collector` that an adapter implements."""

    def begin(self, command: CollectionCommand) -> bool:
        """Start a recording and return True; False where something else has the process. Raises `DrynpuError`."""

    def end(self) -> CollectionReport | None:
        """Stop the recording and write it; None if there is nothing to report. Raises `DrynpuError`."""

    def call(self, work: Callable[[], Any], timeout_s: float | None = None) -> Any:
        """
        Call *work* where recordings may start and stop, and return what it returns.

        Raises
        ------
        TimeoutError
            That was not possible in time; *work* will not be called any more.
        InterruptedError
            The application was interrupted meanwhile.
        """


@define
class Collector:
    """
    The recordings that ``drynpu msprof`` has of a process, one after the other.

    It is `Controllable`. What goes wrong is reported to whoever gave the order; the application goes on.

    Attributes
    ----------
    collected:
        Starts, stops and writes.
    warn:
        Shows a line to the user of the application.
    """

    collected: Collected
    warn: Callable[[str], object]
    command: CollectionCommand | None = None
    _serving: bool = field(default=False, init=False)
    _recording: bool = field(default=False, init=False)
    _over: threading.Event = field(factory=threading.Event, init=False)

    def follow(self, command: CollectionCommand) -> None:
        """Record as ordered: at once, in a window of time, or when commands at a socket say so."""
        if command.control is not None:
            if self._serving or not command.control.exists():  # else the first process of the application has it
                self.listen(command.control)
            return
        self.command, self._over = command, threading.Event()
        delay_s, duration_s = command.request.window.delay_s, command.request.window.duration_s
        if delay_s is None:
            self._begin()
        if delay_s is not None or duration_s is not None:
            wait_s = None if delay_s is None else max(delay_s - (time.time_ns() - command.launched_ns) / 1e9, 0.0)
            arguments = (self._over, wait_s, duration_s)
            threading.Thread(target=self._keep_window, args=arguments, name="drynpu-window", daemon=True).start()

    @property
    def listening(self) -> bool:
        """Whether commands can start and stop recordings."""
        return self._serving and not self._over.is_set()

    def listen(self, path: Path | None = None) -> bool:
        """
        Let commands at a socket, by default this process's, start and stop recordings; return whether they can.

        A socket that cannot be made is a warning: nothing can attach to the process then.
        """
        if not self._serving:
            try:
                serve_control(control_socket(os.getpid()) if path is None else path, self)
            except DrynpuError as error:
                self.warn(str(error))
                return False
        self._serving, self._over = True, threading.Event()
        return True

    def finish(self) -> None:
        """End what is being recorded, and any window: the process, or the library, ends."""
        self._over.set()
        self._end()

    def accept(self, command: CollectionCommand) -> None:
        """Keep the order for the next recordings."""
        self.command = command

    def start(self) -> ControlReply:
        """Start a recording."""
        return self._call(self._begin)

    def stop(self) -> ControlReply:
        """Stop the recording and write it."""
        return self._call(self._end)

    def _call(self, work: Callable[[], ControlReply]) -> ControlReply:
        try:
            reply: ControlReply = self.collected.call(work, _PATIENCE_S)
        except (TimeoutError, InterruptedError):
            return ControlReply.FAILED
        return reply

    def _begin(self) -> ControlReply:
        if self._recording:
            return ControlReply.ALREADY_STARTED
        if self.command is None or self._over.is_set():
            return ControlReply.FAILED
        try:
            self._recording = self.collected.begin(self.command)
        except DrynpuError as error:
            self._report(CollectionReport(notes=(str(error),)))
        return ControlReply.SUCCESS if self._recording else ControlReply.FAILED

    def _end(self) -> ControlReply:
        if not self._recording:
            return ControlReply.NOT_STARTED
        self._recording = False
        reply = ControlReply.SUCCESS
        try:
            report = self.collected.end()
        except DrynpuError as error:
            report, reply = CollectionReport(notes=(str(error),)), ControlReply.FAILED
        if report is not None and not self._report(report):
            reply = ControlReply.FAILED
        return reply

    def _report(self, report: CollectionReport) -> bool:
        """Tell whoever gave the order, and return whether that was possible."""
        try:
            if self.command is not None:
                self.command.report(report)
        except DrynpuError as error:
            self.warn(str(error))
            return False
        return True

    def _keep_window(self, over: threading.Event, wait_s: float | None, duration_s: int | None) -> None:
        """Start late, and stop after a time that counts from when the recording really began."""

        def unless_over(work: Callable[[], object]) -> Callable[[], object]:
            return lambda: None if over.is_set() else work()

        with contextlib.suppress(InterruptedError):  # the application ends, and the recording with it
            if wait_s is not None and not over.wait(wait_s):
                self.collected.call(unless_over(self._begin))
            if duration_s is not None and not over.wait(duration_s):
                self.collected.call(unless_over(self._end))
