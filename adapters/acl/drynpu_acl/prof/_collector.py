"""Recordings that ``drynpu msprof`` orders: the whole of a library's life, a window of it, or by command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve, field

from drynpu import DrynpuError, OutputError, say
from drynpu.recorder import COLLECT_VARIABLE, CollectionCommand, CollectionReport, Collector
from drynpu_acl.prof._active_api import DYNAMIC, ActiveApi, ActiveApiLock
from drynpu_acl.prof._session import Sessions


@define(kw_only=True)
class LibraryCollector:
    """
    What the library does for a collector between ``acl.init`` and ``acl.finalize``.

    While it records, and from beginning to end where it records without further commands, the process is its own:
    `ActiveApi.COMMAND`. It implements `drynpu.recorder.Collected`; commands come on a thread of their own.
    """

    owner: ActiveApiLock
    sessions: Sessions
    devices: int
    _collector: Collector = field(init=False)
    _keeps_process: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._collector = Collector(self, say)

    def open(self, environ: Mapping[str, str]) -> bool:
        """Do what was ordered by the environment; return whether a collector outside began to own the process."""
        text = environ.get(COLLECT_VARIABLE, "")
        self._keeps_process = False
        if not text:
            self.owner.dynamic = environ.get("PROFILING_MODE") == DYNAMIC and self._collector.listen()
            return False
        try:
            command = CollectionCommand.from_text(text)
        except DrynpuError as error:
            say(str(error))
            return False
        self._keeps_process = command.control is None
        if self._keeps_process:
            self.owner.mode = ActiveApi.COMMAND
        self._collector.follow(command)
        self.owner.dynamic = self._collector.listening and not self._keeps_process
        return self._keeps_process

    def close(self) -> None:
        """The library ends, and what is recorded with it."""
        self.owner.dynamic = False
        self._collector.finish()

    # -- what the collector calls

    def begin(self, command: CollectionCommand) -> bool:
        """Begin a recording, unless somebody else has the process."""
        if not self._keeps_process:
            if not self.owner.dynamic or self.owner.mode is not ActiveApi.OFF:
                return False
            self.owner.mode = ActiveApi.COMMAND
        request = command.request
        # The collector makes the files of results itself.
        request = evolve(request, output=evolve(request.output, analyse=False))
        devices = tuple(range(max(self.devices, 1)))
        self.sessions.begin(request, command.directory, devices=devices, marks=request.switches.tx)
        return True

    def end(self) -> CollectionReport | None:
        """End it and write what it recorded. Raises `OutputError`."""
        if not self._keeps_process:
            self.owner.mode = ActiveApi.OFF
        before = len(self.sessions.finished)
        if not self.sessions.end():
            raise OutputError("; ".join(self.sessions.notes))
        written = self.sessions.finished[before:]
        del self.sessions.finished[before:]  # the command that ordered them shows them
        return CollectionReport(path=written[0], notes=self.sessions.notes) if written else None

    def call(self, work: Callable[[], Any], timeout_s: float | None = None) -> Any:  # noqa: ARG002 - nothing to wait for
        """Call *work* on this thread, while no call of the script changes what is recorded."""
        with self.owner.lock:
            return work()
