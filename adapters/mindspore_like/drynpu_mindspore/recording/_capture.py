"""What the recording needs of the room that captures: :class:`drynpu_mindspore.capture.Capture` has it."""

from __future__ import annotations

from typing import Protocol

from drynpu.kernels import Operators
from drynpu_mindspore.capture import DatasetPipeline

__all__ = ["CaptureLike", "CapturedLike"]


class CapturedLike(Protocol):
    """What was captured between a start and a stop."""

    @property
    def operators(self) -> Operators:
        """Operators by their full names, in Unix ns."""
        ...

    @property
    def dataset(self) -> DatasetPipeline | None:
        """The data pipeline, ``None`` where none was recorded."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be told, one readable line each."""
        ...


class CaptureLike(Protocol):
    """The capture of this process; started and stopped in turn."""

    def prepare(self) -> None:
        """Take note that something will be captured: graphs are compiled before that."""
        ...

    def start(self, *, data_process: bool = False) -> None:
        """Capture from now on, with the data pipeline if asked for."""
        ...

    def stop(self) -> CapturedLike:
        """Capture no longer, and return what was captured."""
        ...
