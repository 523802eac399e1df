"""MindSpore's memory pool on the CPU as its profiler saw it (mindspore_profiler.md 11): ``cpu_ms_memory_record``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from drynpu.arrays import I64

NO_TOTALS: I64 = np.empty((0, 3), np.int64)


def read_pool(directory: Path, begin_ns: int) -> I64:
    """
    Return Unix ns, bytes allocated and bytes reserved after each event of the pool, int64 ``[n, 3]``.

    In *directory* is what the profiler left; there is nothing where it was not asked for memory. It tells of all times
    at which it ran; here only events since *begin_ns* count.
    """
    path = next(directory.glob("cpu_ms_memory_record_*.txt"), None)
    if path is None:
        return NO_TOTALS
    table = pl.read_csv(path, columns=[0, 1, 2], schema_overrides=[pl.Int64] * 4)
    totals = table.to_numpy().astype(np.int64).reshape(-1, 3)
    return totals[totals[:, 0] >= begin_ns]
