"""
Counters of L2.

Which events the L2 cache counts per task is the platform's: those the collector asks for (hicann/oam-tools
profimpl/platform, ``*_L2CACHEEVENT``). Only the sums that mean requests, hits and victims are public (Ascend/msprof
``l2_cache_config``), so the other events stay 0; which of several summands is read and which is write is taken from
their order.
"""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64
from drynpu.platforms import CacheEvents


def encode_cache_events(
    events: CacheEvents, reads: I64, writes: I64, read_misses: I64, write_misses: I64, victims: I64
) -> I64:
    """Return the counters ``[m, 8]`` of tasks with those requests, misses and victims among the misses."""
    counts = np.zeros((len(reads), 8), np.int64)

    def put(codes: tuple[int, ...], read: I64, write: I64) -> None:
        both = (read, write) if len(codes) > 1 else (read + write,)
        for code, value in zip(codes, both, strict=False):
            counts[:, events.events.index(code)] += value

    put(events.requests, reads, writes)
    put(events.victims[:1], victims, np.zeros_like(victims))
    if events.hits:
        put(events.hits, reads - read_misses, writes - write_misses)
    else:
        put(events.misses[:1], read_misses + write_misses - victims, np.zeros_like(victims))
    return counts
