"""The life of a recording: actions between steps, host samples, and the directory that is written at its end."""

from __future__ import annotations

from drynpu.recorder._actions import Duty, Irregularity, Transition, transition
from drynpu.recorder._collection import COLLECT_VARIABLE, CollectionOrder, CollectionReport
from drynpu.recorder._control import Answer, ControlClient, Controlled, Wish, control_socket, serve_control
from drynpu.recorder._recording import Outcome, write_devices, write_recording
from drynpu.recorder._system import write_system
from drynpu.recorder._unattended import PROFILE_VARIABLE, ProfileOrder

__all__ = [
    "COLLECT_VARIABLE",
    "PROFILE_VARIABLE",
    "Answer",
    "CollectionOrder",
    "CollectionReport",
    "ControlClient",
    "Controlled",
    "Duty",
    "Irregularity",
    "Outcome",
    "ProfileOrder",
    "Transition",
    "Wish",
    "control_socket",
    "serve_control",
    "transition",
    "write_devices",
    "write_recording",
    "write_system",
]
