"""What operators allocate and release, as the toolkit reports it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.deliverables.load_context import LoadContext
from drynpu.tables.columns import frame, gather_text

CANN_ALLOCATIONS = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "name": pl.String,  # operator
        "address": pl.UInt64,
        "size_bytes": pl.Int64,  # negative when released
        "total_allocated_bytes": pl.Int64,
        "total_reserved_bytes": pl.Int64,
        "tid": pl.Int64,
    }
)
"""Allocations and releases of operators in the toolkit's own memory (component GE), by time."""

SCHEMAS: Mapping[str, pl.Schema] = {"cann_allocations": CANN_ALLOCATIONS}


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return the allocations and releases of all devices."""
    records = context.reader.read("task_memory_info")
    columns = {
        "time_ns": context.clock.host_to_unix(records["timestamp"].astype(np.int64)),
        "name": gather_text(context.words.hashes, records["node_id"]),
        "tid": records["thread_id"],
    }
    fields = {name: records[name] for name in CANN_ALLOCATIONS if name not in columns}
    return {"cann_allocations": frame(CANN_ALLOCATIONS, columns | fields).sort("time_ns", maintain_order=True)}
