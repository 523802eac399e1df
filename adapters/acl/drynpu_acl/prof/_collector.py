"""A collector outside that started this process: ``drynpu msprof``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, frozen

from drynpu import DrynpuError
from drynpu.options import ProfilingRequest
from drynpu.session import COLLECT_VARIABLE, CollectionOrder, CollectionReport
from drynpu_acl.messages import say
from drynpu_acl.prof._session import Sessions

__all__ = ["Collector"]


@frozen
class Collector:
    """Its order; results are reported back to it."""

    order: CollectionOrder

    @classmethod
    def of_process(cls, environ: Mapping[str, str]) -> Collector | None:
        """Return the collector that started this process, if any; one that controls from outside records nothing."""
        text = environ.get(COLLECT_VARIABLE, "")
        if not text:
            return None
        try:
            order = CollectionOrder.from_text(text)
        except DrynpuError as error:
            say(str(error))
            return None
        window = order.request.window
        if order.control is not None or window.interactive or window.delay_s is not None or window.duration_s:
            say("drynpu msprof: a pyACL program is recorded as a whole; --dynamic, --delay and --duration do nothing")
            if order.control is not None or window.interactive:
                return None
        return cls(order)

    @property
    def asked(self) -> tuple[ProfilingRequest, Path]:
        """What to record, and where the result goes; the collector makes the files of it itself."""
        request = self.order.request
        return evolve(request, output=evolve(request.output, analyse=False)), self.order.directory

    def report(self, sessions: Sessions) -> None:
        """Tell the collector what became of it."""
        try:
            paths: list[Path | None] = [*sessions.finished]
            for path in paths or [None]:
                self.order.report(CollectionReport(path=path, notes=sessions.notes))
        except DrynpuError as error:
            say(str(error))
