"""Recordings of a process: what is kept while profiling runs, and the PROF directory that becomes of it."""

from __future__ import annotations

from drynpu_acl.recording._assembly import assemble
from drynpu_acl.recording._captured import ApiCall, CapturedCalls, CopyCall, DeviceStream, MarkRows, ModelExecution
from drynpu_acl.recording._devices_recording import FRAMEWORK, DevicesRecording
from drynpu_acl.recording._timeline import graph_plans, launched_executions, launches

__all__ = [
    "FRAMEWORK",
    "ApiCall",
    "CapturedCalls",
    "CopyCall",
    "DeviceStream",
    "DevicesRecording",
    "MarkRows",
    "ModelExecution",
    "assemble",
    "graph_plans",
    "launched_executions",
    "launches",
]
