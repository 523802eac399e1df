"""A recording becomes a simulation: its launches on the streams of a device, beside a host, with memory."""

from __future__ import annotations

from drynpu.simulate._acl_calls import AclCalls
from drynpu.simulate._framework_events import FrameworkEvents
from drynpu.simulate._host_samples import HostSamples
from drynpu.simulate._inputs import (
    DEFAULT_STREAM,
    Collective,
    DatasetEvent,
    FusionOp,
    GraphRun,
    HostMark,
    Iteration,
    Meeting,
    StaticMemory,
    TxKind,
    TxMark,
)
from drynpu.simulate._lower import Lowered, Planner
from drynpu.simulate._memory import Simulation
from drynpu.simulate._python_frames import PythonFrames
from drynpu.simulate._recording import Recording
from drynpu.simulate._simulate import simulate
from drynpu.simulate._target import Target

__all__ = [
    "DEFAULT_STREAM",
    "AclCalls",
    "Collective",
    "DatasetEvent",
    "FrameworkEvents",
    "FusionOp",
    "GraphRun",
    "HostMark",
    "HostSamples",
    "Iteration",
    "Lowered",
    "Meeting",
    "Planner",
    "PythonFrames",
    "Recording",
    "Simulation",
    "StaticMemory",
    "Target",
    "TxKind",
    "TxMark",
    "simulate",
]
