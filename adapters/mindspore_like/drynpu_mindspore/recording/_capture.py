"""What the recording needs of the room that captures."""

from __future__ import annotations

from typing import Protocol

from drynpu.kernels import Operators

__all__ = ["CaptureLike", "CapturedLike"]


class CapturedLike(Protocol):
    """What was captured between a start and a stop."""

    @property
    def operators(self) -> Operators:
        """Operators by their full names, in Unix ns."""
        ...

    @property
    def dataset(self) -> object | None:
        """The data pipeline (``recording.PipelineFiles``), ``None`` where none was recorded."""
        ...


class CaptureLike(Protocol):
    """One capture of this process; started once and stopped once."""

    def start(self) -> None:
        """Capture from now on."""
        ...

    def stop(self) -> CapturedLike:
        """Capture no longer, and return what was captured."""
        ...
