"""What the recording needs of the room that captures: :class:`drynpu_mindspore.capture.Capture` has it."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from drynpu.kernels import Operators
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture import CaptureOptions, DatasetPipeline, GraphMemory

__all__ = ["CaptureLike", "CapturedLike", "GraphsLike"]


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
    def host_events(self) -> FrameworkEvents:
        """What the framework did on the host."""
        ...

    @property
    def memory(self) -> GraphMemory | None:
        """What the graphs tell of allocations, ``None`` without graphs."""
        ...

    @property
    def pool(self) -> npt.NDArray[np.int64]:
        """Unix ns, bytes allocated and bytes reserved after each event of MindSpore's memory pool, ``[n, 3]``."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be told, one readable line each."""
        ...


class GraphsLike(Protocol):
    """What collects graphs as they are compiled."""

    def begin(self) -> None:
        """Collect from now on."""
        ...


class CaptureLike(Protocol):
    """The capture of this process; started and stopped in turn."""

    @property
    def graphs(self) -> GraphsLike:
        """What has to collect graphs before the first one is compiled."""
        ...

    def start(self, options: CaptureOptions | None = None) -> None:
        """Capture from now on; by default operators alone."""
        ...

    def stop(self) -> CapturedLike:
        """Capture no longer, and return what was captured."""
        ...
