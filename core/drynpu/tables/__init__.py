"""
The columnar tables of a profile: schemas, the loader that fills them from raw records, and interval algebra.

Everything that reads a profile (deliverables, analysis, views) starts from :func:`load_profile`. Nothing here
knows how a file is printed.
"""

from __future__ import annotations

from drynpu.tables import intervals
from drynpu.tables._find import find_profiles
from drynpu.tables._load import load_profile
from drynpu.tables._profile import Profile
from drynpu.tables._schemas import (
    ALLOCATIONS,
    API,
    CANN_ALLOCATIONS,
    COMMUNICATION_OPS,
    FREQUENCIES,
    GC,
    HOST_OPS,
    KERNELS,
    NO_CONTEXT,
    NO_MODEL,
    NPU_MEM,
    NPU_MODULE_MEM,
    PMU_COLUMNS_SPLIT,
    PYTHON_CALLS,
    QUEUE,
    STEP_MARKS,
    TASKS,
)

__all__ = [
    "ALLOCATIONS",
    "API",
    "CANN_ALLOCATIONS",
    "COMMUNICATION_OPS",
    "FREQUENCIES",
    "GC",
    "HOST_OPS",
    "KERNELS",
    "NO_CONTEXT",
    "NO_MODEL",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "PMU_COLUMNS_SPLIT",
    "PYTHON_CALLS",
    "QUEUE",
    "STEP_MARKS",
    "TASKS",
    "Profile",
    "find_profiles",
    "intervals",
    "load_profile",
]
