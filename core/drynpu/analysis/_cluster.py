"""The ranks of a run side by side: who is slow, and which link (mindinsight_dashboard.md 10, 11)."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from drynpu.analysis._cluster_schemas import CLUSTER_LINKS, CLUSTER_RANKS, CLUSTER_STEPS
from drynpu.analysis._summary import Summary
from drynpu.analysis.communication import communication_time, communication_transfers
from drynpu.tables import Profile


def cluster_steps(summaries: Sequence[tuple[str, Summary]]) -> pl.DataFrame:
    """Return table :data:`CLUSTER_STEPS` of ranks with their summaries."""
    parts = ["computing_us", "communication_not_overlapped_us", "free_us"]
    rows = [
        summary.steps.select(pl.lit(rank).alias("rank"), "step", *parts, "overlapped_us").with_columns(
            pl.sum_horizontal(parts).alias("total_us")
        )
        for rank, summary in summaries
    ]
    return pl.concat([pl.DataFrame(schema=CLUSTER_STEPS), *(row.select(CLUSTER_STEPS.names()) for row in rows)])


def cluster_ranks(ranks: Sequence[tuple[str, Profile, Summary]]) -> pl.DataFrame:
    """Return table :data:`CLUSTER_RANKS`."""
    rows = []
    for rank, profile, summary in ranks:
        operators = profile.communication_ops
        times = communication_time(profile, communication_transfers(profile))
        known = times.height > 0
        rows.append(
            (
                rank,
                operators.height,
                float(operators["duration_ns"].sum()) / 1000,
                float(times["wait_ns"].sum()) / 1000 if known else None,
                float(times["transit_ns"].sum()) / 1000 if known else None,
                summary.peak_allocated_bytes,
                summary.peak_reserved_bytes,
            )
        )
    return pl.DataFrame(rows, schema=CLUSTER_RANKS, orient="row")


def cluster_links(profiles: Sequence[Profile], *, between_ranks: bool = False) -> pl.DataFrame:
    """
    Return table :data:`CLUSTER_LINKS` of what the ranks recorded of their own transfers.

    With *between_ranks* links to ranks that no profile is of are left out, as the vendor's analysis of a cluster does.
    """
    transfers = [communication_transfers(profile) for profile in profiles]
    moved = pl.concat(transfers).filter((pl.col("src_rank") != pl.col("dst_rank")) & (pl.col("transport") != "LOCAL"))
    known = [profile.rank_id for profile in profiles]
    if between_ranks and len(known) > 1 and min(known) >= 0:
        moved = moved.filter(pl.col("src_rank").is_in(known) & pl.col("dst_rank").is_in(known))
    grouped = moved.group_by(pl.col("src_rank").alias("source"), pl.col("dst_rank").alias("target"), "transport").agg(
        pl.len().alias("count"), (pl.col("time_ns").sum() / 1000).alias("time_us"), pl.col("size_bytes").sum()
    )
    rate = pl.when(pl.col("time_us") > 0).then(pl.col("size_bytes") / pl.col("time_us") / 1000)
    return (
        grouped.with_columns(rate.alias("gb_s"))
        .sort("source", "target", "transport")
        .select(pl.col(name).cast(dtype) for name, dtype in CLUSTER_LINKS.items())
    )
