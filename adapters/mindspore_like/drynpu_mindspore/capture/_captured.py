"""What a recording asks of a capture: :class:`Capture` has it, and so has the capture of ``mindspore_like``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64
from drynpu.kernels import Operators
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._memory import GraphMemory

NO_TOTALS: I64 = np.empty((0, 3), np.int64)


@frozen(kw_only=True)
class CaptureOptions:
    """What is recorded beside operators."""

    data_process: bool = False
    """The data pipelines that the script builds meanwhile."""
    host_events: bool = False
    """What the framework does on the host."""
    with_stack: bool = False
    """Calls of Python functions, among the events of the host."""
    profile_memory: bool = False
    """Totals of MindSpore's memory pool."""


@frozen(eq=False, kw_only=True)
class CapturedMindSpore:
    """
    What MindSpore did between start and stop.

    ``dataset`` holds the files of MindSpore's dataset profiler by name; it is empty where they were not asked for or
    the script read no data pipeline meanwhile. ``host_events`` is empty where it was not asked for. ``notes`` are
    readable lines on what is not known. ``memory`` is what the graphs say of allocations, ``None`` without graphs.
    ``pool`` is what was in MindSpore's memory pool on the CPU: Unix ns, bytes allocated and bytes reserved after each
    event, int64 ``[n, 3]``.
    """

    operators: Operators
    dataset: Mapping[str, str] = field(factory=dict)
    host_events: FrameworkEvents = field(factory=FrameworkEvents.empty)
    notes: tuple[str, ...] = ()
    memory: GraphMemory | None = None
    pool: I64 = field(default=NO_TOTALS)


class GraphCollection(Protocol):
    """What collects graphs as they are compiled."""

    def begin(self) -> None:
        """Start collecting."""


class Capturing(Protocol):
    """The capture of this process; started and stopped in turn."""

    @property
    def graphs(self) -> GraphCollection:
        """What has to collect graphs before the first one is compiled."""

    def start(self, options: CaptureOptions | None = None) -> None:
        """Start capturing; without *options* only operators."""

    def stop(self) -> CapturedMindSpore:
        """Stop capturing, and return what was captured."""
