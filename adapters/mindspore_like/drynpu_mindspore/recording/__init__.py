"""Captured data become a run directory ``*_ascend_ms``, and run directories become deliverables."""

from __future__ import annotations

from drynpu_mindspore.recording._backend import RecordingBackend
from drynpu_mindspore.recording._checking import CheckedBackend, NotingLog, follow_steps, start_check
from drynpu_mindspore.recording._collectives import find_collectives
from drynpu_mindspore.recording._plans import launching_plans
from drynpu_mindspore.recording._ranks import WORLD_NAMES, JobRanks
from drynpu_mindspore.recording._sunk import KERNELS, GraphEngine, NewGraphEngine, SunkLaunches

__all__ = [
    "KERNELS",
    "WORLD_NAMES",
    "CheckedBackend",
    "GraphEngine",
    "JobRanks",
    "NewGraphEngine",
    "NotingLog",
    "RecordingBackend",
    "SunkLaunches",
    "find_collectives",
    "follow_steps",
    "launching_plans",
    "start_check",
]
