"""What a recording asks of a capture: :class:`Capture` has it, and so has the capture of ``mindspore_like``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64
from drynpu.kernels import Operators
from drynpu.recorder import OptionalParts
from drynpu.simulate import FrameworkEvents
from drynpu_mindspore.capture._graph_calls import NO_CALLS
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
    parts: OptionalParts = field(factory=OptionalParts, eq=False)
    """Gathers all of these, and what tells shapes."""


@frozen(eq=False, kw_only=True)
class CapturedMindSpore:
    """
    What MindSpore did between start and stop.

    ``dataset`` holds the files of MindSpore's dataset profiler by name; it is empty where they were not asked for or
    the script read no data pipeline meanwhile. ``host_events`` is empty where it was not asked for. ``notes`` are
    readable lines on what is not known; ``unknown`` are the primitives of which some launches lack shapes or types, in
    order. ``memory`` is what the graphs say of allocations, ``None`` without graphs.
    ``pool`` is what was in MindSpore's memory pool on the CPU: Unix ns, bytes allocated and bytes reserved after each
    event, int64 ``[n, 3]``. ``graph_calls`` are begin and end (Unix ns) of the script's calls of compiled graphs, int64
    ``[n, 2]``.
    """

    operators: Operators
    dataset: Mapping[str, str] = field(factory=dict)
    host_events: FrameworkEvents = field(factory=FrameworkEvents.empty)
    notes: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    memory: GraphMemory | None = None
    pool: I64 = field(default=NO_TOTALS)
    graph_calls: I64 = field(default=NO_CALLS)


@define(eq=False)
class CapturedPart:
    """
    A part of a recording that has ended and is still to be read.

    Attributes
    ----------
    build:
        Reads it; called once, by the thread that first wants the part.
    """

    build: Callable[[], CapturedMindSpore]
    _captured: CapturedMindSpore | None = field(default=None, init=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False)

    def read(self) -> CapturedMindSpore:
        """Return what was captured."""
        with self._lock:
            if self._captured is None:
                self._captured = self.build()
            return self._captured


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

    def cut(self) -> CapturedPart:
        """End a part of what is captured, at which no operator runs, and go on; return the part."""

    def stop(self) -> CapturedMindSpore:
        """Stop capturing, and return what was captured since the start or the last cut."""
