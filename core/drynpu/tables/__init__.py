"""
The tables of a profile: their schemas, how raw records become the tables of tasks and calls, and interval algebra.

Nothing here knows how a file is printed.
"""

from __future__ import annotations

from drynpu.tables import intervals
from drynpu.tables._profile import Profile, ToolkitTables
from drynpu.tables._schemas import (
    ALLOCATIONS,
    API,
    COMMUNICATION_OPS,
    GC,
    HOST_OPS,
    KERNELS,
    NO_CONTEXT,
    NO_MODEL,
    PMU_COLUMNS_SPLIT,
    PYTHON_CALLS,
    QUEUE,
    STEP_PREFIX,
    TASKS,
    call_name,
)

__all__ = [
    "ALLOCATIONS",
    "API",
    "COMMUNICATION_OPS",
    "GC",
    "HOST_OPS",
    "KERNELS",
    "NO_CONTEXT",
    "NO_MODEL",
    "PMU_COLUMNS_SPLIT",
    "PYTHON_CALLS",
    "QUEUE",
    "STEP_PREFIX",
    "TASKS",
    "Profile",
    "ToolkitTables",
    "call_name",
    "intervals",
]
