"""Recordings that somebody outside orders, ``drynpu msprof``: the whole of a process, a window of it, or by command."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from attrs import define, evolve, field

from drynpu import DrynpuError
from drynpu.options import ProfilingRequest
from drynpu.recorder import (
    COLLECT_VARIABLE,
    CollectionCommand,
    CollectionReport,
    ControlReply,
    control_socket,
    serve_control,
)
from drynpu_acl.messages import say
from drynpu_acl.prof._mode import DYNAMIC, Mode, Ownership
from drynpu_acl.prof._session import Sessions

__all__ = ["Collector"]


@define(kw_only=True)
class Collector:
    """
    What the library does for a collector between ``acl.init`` and ``acl.finalize``.

    While it records, and from beginning to end where it records without further commands, the process is its own:
    `Mode.COMMAND`. It implements `drynpu.recorder.Controllable`; commands come on a thread of their own.
    """

    owner: Ownership
    sessions: Sessions
    devices: int
    order: CollectionCommand | None = None
    _serving: bool = False
    _recording: bool = False
    _window_over: threading.Event = field(factory=threading.Event)

    # -- the life of the library

    def begin(self, environ: Mapping[str, str]) -> bool:
        """Do what was ordered by the environment; tell whether a collector outside began to own the process."""
        text = environ.get(COLLECT_VARIABLE, "")
        if not text:
            if environ.get("PROFILING_MODE") == DYNAMIC:
                self._listen(control_socket(os.getpid()))
            return False
        try:
            order = CollectionCommand.from_text(text)
        except DrynpuError as error:
            say(str(error))
            return False
        if order.control is not None:
            if self._serving or not order.control.exists():  # else the first process of the application has it
                self._listen(order.control)
            return False
        self.order, self.owner.mode = order, Mode.COMMAND
        self._keep_window(order)
        return True

    def end(self) -> None:
        """The library ends, and what is recorded with it."""
        self._window_over.set()
        self.owner.dynamic = False
        self._write()

    def _listen(self, path: Path) -> None:
        if not self._serving:
            try:
                serve_control(path, self)
            except DrynpuError as error:
                say(str(error))
                return
        self._serving = self.owner.dynamic = True

    # -- a window of time

    def _keep_window(self, order: CollectionCommand) -> None:
        window = order.request.window
        if window.delay_s is None:
            self._record(order)
        if window.delay_s is None and window.duration_s is None:
            return
        self._window_over = over = threading.Event()
        elapsed_s = (time.time_ns() - order.launched_ns) / 1e9
        wait_s = None if window.delay_s is None else max(window.delay_s - elapsed_s, 0.0)

        def keep() -> None:
            if wait_s is not None and not over.wait(wait_s):
                with self.owner.lock:
                    if not over.is_set():
                        self._record(order)
            # The time counts from when the recording really began.
            if window.duration_s is not None and not over.wait(window.duration_s):
                with self.owner.lock:
                    if not over.is_set():
                        self._write()

        threading.Thread(target=keep, name="drynpu-window", daemon=True).start()

    # -- commands

    def accept(self, order: CollectionCommand) -> None:
        """Keep the order for the next recordings."""
        self.order = order

    def start(self) -> ControlReply:
        """Begin a recording."""
        with self.owner.lock:
            if self._recording:
                return ControlReply.ALREADY_STARTED
            if self.order is None or not self.owner.dynamic or self.owner.mode is not Mode.OFF:
                return ControlReply.FAILED
            self.owner.mode = Mode.COMMAND
            self._record(self.order)
            return ControlReply.SUCCESS

    def stop(self) -> ControlReply:
        """End it."""
        with self.owner.lock:
            if not self._recording:
                return ControlReply.NOT_STARTED
            self.owner.mode = Mode.OFF
            return ControlReply.SUCCESS if self._write() else ControlReply.FAILED

    # -- recordings

    def _record(self, order: CollectionCommand) -> None:
        request: ProfilingRequest = evolve(order.request, output=evolve(order.request.output, analyse=False))
        # The collector makes the files of results itself.
        devices = tuple(range(max(self.devices, 1)))
        self.sessions.begin(request, order.directory, devices=devices, marks=request.switches.tx)
        self._recording = True

    def _write(self) -> bool:
        """Write what is being recorded and report it to whoever ordered it."""
        if self.order is None or not self._recording:
            return True
        self._recording = False
        before = len(self.sessions.finished)
        written = self.sessions.end()
        paths: list[Path | None] = [*self.sessions.finished[before:]] if written else [None]
        del self.sessions.finished[before:]  # the command that ordered them shows them
        try:
            for path in paths:
                self.order.report(CollectionReport(path=path, notes=self.sessions.notes))
        except DrynpuError as error:
            say(str(error))
            return False
        return written
