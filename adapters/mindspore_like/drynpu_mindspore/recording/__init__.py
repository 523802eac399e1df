"""Captured data become a run directory ``*_ascend_ms``, and run directories become deliverables."""

from __future__ import annotations

from drynpu_mindspore.recording._backend import RecordingBackend
from drynpu_mindspore.recording._checking import CheckedBackend, NotingLog, follow_steps, start_check
from drynpu_mindspore.recording._ranks import WORLD_NAMES, JobRanks

__all__ = [
    "WORLD_NAMES",
    "CheckedBackend",
    "JobRanks",
    "NotingLog",
    "RecordingBackend",
    "follow_steps",
    "start_check",
]
