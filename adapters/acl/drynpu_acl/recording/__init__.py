"""Recordings of a process: what is kept while profiling runs, and the PROF directory that becomes of it."""

from __future__ import annotations

from drynpu_acl.recording._captured import ApiCall, Captured, Copy, Marks, Place, Run
from drynpu_acl.recording._recorder import Recorder
from drynpu_acl.recording._timeline import graph_plans, joined, launched_runs, launches, stream_number

__all__ = [
    "ApiCall",
    "Captured",
    "Copy",
    "Marks",
    "Place",
    "Recorder",
    "Run",
    "graph_plans",
    "joined",
    "launched_runs",
    "launches",
    "stream_number",
]
