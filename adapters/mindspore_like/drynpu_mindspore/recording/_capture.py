"""What the recording needs of the room that captures: :class:`drynpu_mindspore.capture.Capture` has it."""

from __future__ import annotations

from typing import Protocol

from drynpu_mindspore.capture import CapturedMindSpore, CaptureOptions


class GraphCollection(Protocol):
    """What collects graphs as they are compiled."""

    def begin(self) -> None:
        """Collect from now on."""


class Capturing(Protocol):
    """The capture of this process; started and stopped in turn."""

    @property
    def graphs(self) -> GraphCollection:
        """What has to collect graphs before the first one is compiled."""

    def start(self, options: CaptureOptions | None = None) -> None:
        """Capture from now on; by default operators alone."""

    def stop(self) -> CapturedMindSpore:
        """Capture no longer, and return what was captured."""
