"""Recordings of a process from outside: the whole of it, a window of it, or what ``drynpu msprof`` starts and stops."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from attrs import define, field

from drynpu import DrynpuError, OutputError
from drynpu.recorder import CollectionCommand, CollectionReport, ControlReply, control_socket, serve_control
from drynpu_torch.profiler._main_thread import on_main_thread
from drynpu_torch.profiler._result import Result

__all__ = ["listen", "start_collection"]

_LOG = logging.getLogger("drynpu")
_PATIENCE_S = 50.0
"""How long a command waits for the main thread; the command line waits longer."""


@define
class _Collector:
    """
    The recordings of this process, one after the other.

    All is done on the main thread; a process that was forked off does nothing, it shares the recording of its parent.
    """

    order: CollectionCommand | None = None
    owner: int = field(factory=os.getpid)
    _result: Result | None = None
    _ended: bool = False

    def accept(self, order: CollectionCommand) -> None:
        self.order = order

    def start(self) -> ControlReply:
        return self._soon(self.begin)

    def stop(self) -> ControlReply:
        return self._soon(self.end)

    def begin(self) -> ControlReply:
        """Start a recording; what goes wrong is reported to whoever gave the order."""
        if self.order is None or self._ended:
            return ControlReply.FAILED
        if self._result is not None:
            return ControlReply.ALREADY_STARTED
        result = Result(request=self.order.request)
        try:
            result.init(self.order.directory)
            result.start()
        except DrynpuError as error:
            self.order.report(CollectionReport(notes=(str(error),)))
            return ControlReply.FAILED
        self._result = result
        return ControlReply.SUCCESS

    def end(self) -> ControlReply:
        """Stop the recording and write it; one without operators leaves nothing."""
        result, self._result = self._result, None
        if result is None or self.order is None:
            return ControlReply.NOT_STARTED
        try:
            result.stop()
            outcome = result.write() if result.operators else None
            if outcome is not None:
                self.order.report(CollectionReport(path=outcome.prof_path, notes=outcome.notes))
        except DrynpuError as error:
            self.order.report(CollectionReport(notes=(str(error),)))
            return ControlReply.FAILED
        return ControlReply.SUCCESS

    def finish(self) -> None:
        """The process ends."""
        if os.getpid() == self.owner:
            self.end()
            self._ended = True

    def _soon(self, work: Callable[[], ControlReply]) -> ControlReply:
        try:
            return on_main_thread(work, _PATIENCE_S)
        except (TimeoutError, InterruptedError):
            return ControlReply.FAILED


def start_collection(text: str) -> None:
    """
    Record as an order says; what was recorded is written when its window or the process ends.

    A process that ran no operator leaves nothing.

    Parameters
    ----------
    text:
        A `CollectionCommand` as text.

    Raises
    ------
    OptionError
        The order cannot be read. Any other failure is reported to whoever gave it; the application goes on.
    """
    order = CollectionCommand.from_text(text)
    if order.control is not None:
        if not order.control.exists():  # else the first process of the application has it
            listen(order.control)
        return
    collector = _Collector(order)
    atexit.register(collector.finish)
    delay_s, duration_s = order.request.window.delay_s, order.request.window.duration_s
    if delay_s is None:
        collector.begin()
    if delay_s is not None or duration_s is not None:
        wait_s = max((delay_s or 0) - (time.time_ns() - order.launched_ns) / 1e9, 0.0)
        threading.Thread(
            target=_keep_window,
            args=(collector, delay_s is not None, wait_s, duration_s),
            name="drynpu-window",
            daemon=True,
        ).start()


def listen(path: Path | None = None) -> None:
    """
    Let ``drynpu msprof --dynamic=on`` start and stop recordings of this process at a socket, by default its own.

    A socket that cannot be made is a warning: the application goes on, and nothing can attach to it.
    """
    collector = _Collector()
    try:
        serve_control(control_socket(os.getpid()) if path is None else path, collector)
    except OutputError as error:
        _LOG.warning("%s", error)
        return
    atexit.register(collector.finish)


def _keep_window(collector: _Collector, delayed: bool, wait_s: float, duration_s: int | None) -> None:
    """Start late, and stop after a time that counts from when the recording really started."""
    with contextlib.suppress(InterruptedError):  # the application ends, and the recording with it
        if delayed:
            time.sleep(wait_s)
            on_main_thread(collector.begin)
        if duration_s is not None:
            time.sleep(duration_s)
            on_main_thread(collector.end)
