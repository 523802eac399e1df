"""Operator memory as the toolkit pairs it (cann_msprof.md 4.4, operator_memory)."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile

TOOLKIT_MEMORY = pl.Schema(
    {
        "device_id": pl.Int64,
        "name": pl.String,
        "size_bytes": pl.Int64,
        "allocation_ns": pl.Int64,
        "release_ns": pl.Int64,
        "allocation_allocated_bytes": pl.Int64,
        "allocation_reserved_bytes": pl.Int64,
        "release_allocated_bytes": pl.Int64,
        "release_reserved_bytes": pl.Int64,
    }
)
"""One row per allocation; null where its release, or the allocation of a release, was not recorded."""


def toolkit_memory(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`TOOLKIT_MEMORY`.

    An allocation belongs to the next event of its operator at its address, if that is a release. Rows with a release
    come first, by its time, then the others by their allocation. A release alone has no name and its negative size.
    """
    key = ["device_id", "name", "address"]
    events = profile.frame("cann_allocations").with_columns((pl.col("size_bytes") > 0).alias("taken"))
    following = ("taken", "time_ns", "total_allocated_bytes", "total_reserved_bytes")
    paired = events.with_columns(
        *(pl.col(name).shift(-1).over(key).alias(f"next_{name}") for name in following),
        pl.col("taken").shift(1).over(key).fill_null(False).alias("after_taken"),
    )
    matched = pl.col("next_taken").not_().fill_null(False)
    allocated = paired.filter("taken").select(
        "device_id",
        "name",
        "size_bytes",
        pl.col("time_ns").alias("allocation_ns"),
        pl.when(matched).then("next_time_ns").alias("release_ns"),
        pl.col("total_allocated_bytes").alias("allocation_allocated_bytes"),
        pl.col("total_reserved_bytes").alias("allocation_reserved_bytes"),
        pl.when(matched).then("next_total_allocated_bytes").alias("release_allocated_bytes"),
        pl.when(matched).then("next_total_reserved_bytes").alias("release_reserved_bytes"),
    )
    alone = paired.filter(~pl.col("taken") & ~pl.col("after_taken")).select(
        "device_id",
        pl.lit("").alias("name"),
        "size_bytes",
        pl.lit(None, pl.Int64).alias("allocation_ns"),
        pl.col("time_ns").alias("release_ns"),
        *(pl.lit(None, pl.Int64).alias(f"allocation_{part}_bytes") for part in ("allocated", "reserved")),
        pl.col("total_allocated_bytes").alias("release_allocated_bytes"),
        pl.col("total_reserved_bytes").alias("release_reserved_bytes"),
    )
    rows = pl.concat([part.select(TOOLKIT_MEMORY.names()) for part in (allocated, alone)])
    return rows.sort("device_id", "release_ns", "allocation_ns", nulls_last=True, maintain_order=True)
