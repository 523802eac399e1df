"""Recordings of a process that are started from outside, by its environment or by ``drynpu msprof``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define

from drynpu.recorder import CollectionCommand, CollectionReport, Collector, at_process_end
from drynpu_torch.profiler._main_thread import on_main_thread

if TYPE_CHECKING:
    from drynpu_torch.profiler._result import Result

_LOG = logging.getLogger("drynpu")


@define
class ProcessRecording:
    """A recording of this process that no profiler of the script began, as a `drynpu.recorder.Collector` wants one."""

    _result: Result | None = None

    def begin(self, command: CollectionCommand) -> bool:
        """Start a recording."""
        # What writes results takes a quarter of a second to import, which a process that records nothing saves.
        from drynpu_torch.profiler._result import Result

        result = Result(request=command.request)
        result.init(command.directory)
        result.start()
        self._result = result
        return True

    def end(self) -> CollectionReport | None:
        """Stop the recording and write it; one without operators leaves nothing."""
        result, self._result = self._result, None
        if result is None:
            return None
        result.stop()
        outcome = result.write() if result.operators else None
        return None if outcome is None else CollectionReport(path=outcome.prof_path, notes=outcome.notes)

    def call(self, work: Callable[[], Any], timeout_s: float | None = None) -> Any:
        """Call *work* on the main thread, because PyTorch's tracer records the thread that starts it."""
        return on_main_thread(work, timeout_s)


def start_collection(text: str) -> None:
    """
    Record as a command says; the recording is written when its window or the process ends.

    A process that ran no operator leaves nothing.

    Parameters
    ----------
    text:
        A `CollectionCommand` as text.

    Raises
    ------
    OptionError
        The command cannot be read. Any other failure is reported to its sender; the application goes on.
    """
    command = CollectionCommand.from_text(text)
    collector = Collector(ProcessRecording(), _LOG.warning)
    at_process_end(collector.finish)
    collector.follow(command)


def listen(path: Path | None = None) -> None:
    """
    Let ``drynpu msprof --dynamic=on`` start and stop recordings of this process at a socket.

    *path* is the socket, by default the process's. If it cannot be created, a warning says so; the application
    goes on, and nothing can attach to it.
    """
    collector = Collector(ProcessRecording(), _LOG.warning)
    if collector.listen(path):
        at_process_end(collector.finish)
