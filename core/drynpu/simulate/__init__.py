"""A recording becomes a simulation: its launches on the streams of a device, beside a host, with memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.layouts.marks import MarkKind
    from drynpu.simulate._event_times import EventLine
    from drynpu.simulate._inputs import (
        DEFAULT_STREAM,
        Collective,
        DatasetEvent,
        FusionOp,
        GraphPoints,
        GraphRun,
        HostCall,
        Iteration,
        Mark,
        Rendezvous,
        StaticMemory,
    )
    from drynpu.simulate._launch_state import warm_shares
    from drynpu.simulate._lower import LoweredLaunches, Planner, lower
    from drynpu.simulate._memory import Simulation
    from drynpu.simulate._recording import MINDSPORE, PYTORCH, Destination, Recording
    from drynpu.simulate._schedule import CollectiveTimes
    from drynpu.simulate._simulate import simulate
    from drynpu.simulate._time_map import TimeMap
    from drynpu.simulate.host_activity import AclCalls, FrameworkEvents, HostSamples, PythonFrames
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "DEFAULT_STREAM",
    "MINDSPORE",
    "PYTORCH",
    "AclCalls",
    "Collective",
    "CollectiveTimes",
    "DatasetEvent",
    "Destination",
    "EventLine",
    "FrameworkEvents",
    "FusionOp",
    "GraphPoints",
    "GraphRun",
    "HostCall",
    "HostSamples",
    "Iteration",
    "LoweredLaunches",
    "Mark",
    "MarkKind",
    "Planner",
    "PythonFrames",
    "Recording",
    "Rendezvous",
    "Simulation",
    "StaticMemory",
    "TimeMap",
    "lower",
    "simulate",
    "warm_shares",
]
