"""How far the dashboard is with what it reads for a page, and the end of it by the reader."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

from drynpu import CommandError, Stage, listening
from drynpu_pages.progress_line import progress_text


@define(eq=False)
class _Work:
    """What one request does for a run."""

    stage: Stage = field(default=Stage(""))
    begun_s: float = field(factory=time.monotonic)
    cancelled: bool = False

    def hear(self, stage: Stage) -> None:
        """Take a new stage; end the work where the reader has cancelled it."""
        if self.cancelled:
            raise CommandError("Reading was cancelled. Open the page again to read the run.")
        if stage.text != self.stage.text:
            self.begun_s = time.monotonic()
        self.stage = stage


@define(eq=False)
class Readings:
    """What is being read, by the name of its run. Safe to use from several threads."""

    _works: dict[str, list[_Work]] = field(factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)

    @contextmanager
    def of_run(self, name: str) -> Iterator[None]:
        """
        Follow the stages of the block, which reads the run *name*.

        Raises
        ------
        CommandError
            The reader has cancelled it.
        """
        work = _Work()
        with self._lock:
            self._works.setdefault(name, []).append(work)
        try:
            with listening(work.hear):
                yield
        finally:
            with self._lock:
                self._works[name].remove(work)

    def text(self, name: str) -> str:
        """Return where the longest work on a run is, ``""`` where nothing is being read."""
        with self._lock:
            stages = [(work.stage, work.begun_s) for work in self._works.get(name, ()) if work.stage.text]
        return progress_text(stages[0][0], time.monotonic() - stages[0][1]) if stages else ""

    def cancel(self, name: str) -> None:
        """End all work on a run where its next stage begins."""
        with self._lock:
            for work in self._works.get(name, ()):
                work.cancelled = True
