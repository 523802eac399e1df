"""The simulated NPU: the host beside it, its streams, its memory."""

from __future__ import annotations

from drynpu.device._costs import HostCosts
from drynpu.device._memory import (
    BEST_FIT_POOL,
    CACHING_POOL,
    MemoryPool,
    MemoryTimeline,
    account,
    block_bytes,
    pair,
)
from drynpu.device._nesting import inherit, innermost, nest
from drynpu.device._schedule import Dispatches, Launches, Mark, Schedule, fifo, schedule_streams

__all__ = [
    "BEST_FIT_POOL",
    "CACHING_POOL",
    "Dispatches",
    "HostCosts",
    "Launches",
    "Mark",
    "MemoryPool",
    "MemoryTimeline",
    "Schedule",
    "account",
    "block_bytes",
    "fifo",
    "inherit",
    "innermost",
    "nest",
    "pair",
    "schedule_streams",
]
