"""The critical path of a step: what its end waited for, and what led to that, back to the end of the step before."""

from __future__ import annotations

from drynpu_pages.critical._bounds import BOUNDS, GROUPS, bounds, host_shares
from drynpu_pages.critical._graph import Graph, Kind, graph_of
from drynpu_pages.critical._parts import KIND_NAMES, PATH, Window, critical_path, path_parts, windows_of
from drynpu_pages.critical._submitted import UNKNOWN, Host, Queue, host_of
from drynpu_pages.critical._work import Work, latest_before, work_of

__all__ = [
    "BOUNDS",
    "GROUPS",
    "KIND_NAMES",
    "PATH",
    "UNKNOWN",
    "Graph",
    "Host",
    "Kind",
    "Queue",
    "Window",
    "Work",
    "bounds",
    "critical_path",
    "graph_of",
    "host_of",
    "host_shares",
    "latest_before",
    "path_parts",
    "windows_of",
    "work_of",
]
