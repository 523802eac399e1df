"""Schemas of the tables of a run's ranks, apart from what makes them: a cluster of results needs these alone."""

from __future__ import annotations

import polars as pl

CLUSTER_STEPS = pl.Schema(
    {
        "rank": pl.String,
        "step": pl.String,
        "computing_us": pl.Float64,
        "communication_not_overlapped_us": pl.Float64,
        "overlapped_us": pl.Float64,
        "free_us": pl.Float64,
        "total_us": pl.Float64,
    }
)
"""One row per rank and step."""

CLUSTER_RANKS = pl.Schema(
    {
        "rank": pl.String,
        "collectives": pl.Int64,
        "communication_us": pl.Float64,
        "wait_us": pl.Float64,
        "transit_us": pl.Float64,
        "peak_allocated_bytes": pl.Int64,
        "peak_reserved_bytes": pl.Int64,
    }
)
"""One row per rank; null where it was not recorded."""

CLUSTER_LINKS = pl.Schema(
    {
        "source": pl.Int64,
        "target": pl.Int64,
        "transport": pl.String,
        "count": pl.Int64,
        "time_us": pl.Float64,
        "size_bytes": pl.Int64,
        "gb_s": pl.Float64,
    }
)
"""One row per link and transport, by source and target; copies of a rank within itself are left out."""
