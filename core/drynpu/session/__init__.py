"""The life of a profiling session: actions, simulation of what was captured, raw records on disk."""

from __future__ import annotations

from drynpu.session._acl_calls import AclCalls
from drynpu.session._actions import Duty, Irregularity, Transition, transition
from drynpu.session._collection import COLLECT_VARIABLE, CollectionOrder, CollectionReport
from drynpu.session._control import Answer, ControlClient, Controlled, Wish, control_socket, serve_control
from drynpu.session._counters import METRIC_NAMES, counter_problem
from drynpu.session._document import write_document
from drynpu.session._framework_events import FrameworkEvents
from drynpu.session._host_order import DEFAULT_STREAM, HostMark
from drynpu.session._inputs import (
    Collective,
    DatasetEvent,
    FusionOp,
    GraphRun,
    Iteration,
    Meeting,
    StaticMemory,
    TxKind,
    TxMark,
)
from drynpu.session._lower import Lowered, lower
from drynpu.session._python_side import PythonFrames
from drynpu.session._recording import Outcome, Recording, write_devices, write_recording
from drynpu.session._sampler import HostSampler, HostSamples
from drynpu.session._simulate import Simulation, simulate
from drynpu.session._system import write_system
from drynpu.session._target import Target
from drynpu.session._unattended import PROFILE_VARIABLE, ProfileOrder
from drynpu.session.families import UNMODELLED

__all__ = [
    "COLLECT_VARIABLE",
    "DEFAULT_STREAM",
    "METRIC_NAMES",
    "PROFILE_VARIABLE",
    "UNMODELLED",
    "AclCalls",
    "Answer",
    "CollectionOrder",
    "CollectionReport",
    "Collective",
    "ControlClient",
    "Controlled",
    "DatasetEvent",
    "Duty",
    "FrameworkEvents",
    "FusionOp",
    "GraphRun",
    "HostMark",
    "HostSampler",
    "HostSamples",
    "Irregularity",
    "Iteration",
    "Lowered",
    "Meeting",
    "Outcome",
    "ProfileOrder",
    "PythonFrames",
    "Recording",
    "Simulation",
    "StaticMemory",
    "Target",
    "Transition",
    "TxKind",
    "TxMark",
    "Wish",
    "control_socket",
    "counter_problem",
    "lower",
    "serve_control",
    "simulate",
    "transition",
    "write_devices",
    "write_document",
    "write_recording",
    "write_system",
]
