"""The simulated NPU: the host beside it, its streams, its memory."""

from __future__ import annotations

from drynpu.device._dispatches import Dispatches, DispatchKind, HostCosts, Launches, LaunchMode, StreamTimes
from drynpu.device._memory import (
    BEST_FIT_POOL,
    CACHING_POOL,
    DeviceMemory,
    MemoryPool,
    account,
    block_bytes,
    pair,
)
from drynpu.device._nesting import closing_order, cut_crossings, inherit, innermost, nest
from drynpu.device._schedule import QueueState, fifo, schedule_streams

__all__ = [
    "BEST_FIT_POOL",
    "CACHING_POOL",
    "DeviceMemory",
    "DispatchKind",
    "Dispatches",
    "HostCosts",
    "LaunchMode",
    "Launches",
    "MemoryPool",
    "QueueState",
    "StreamTimes",
    "account",
    "block_bytes",
    "closing_order",
    "cut_crossings",
    "fifo",
    "inherit",
    "innermost",
    "nest",
    "pair",
    "schedule_streams",
]
