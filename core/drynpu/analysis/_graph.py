"""Iterations of compiled graphs and their times (cann_msprof.md 5)."""

from __future__ import annotations

import polars as pl
from attrs import frozen

from drynpu.tables import NO_MODEL, Profile

ITERATION_TRACE = pl.Schema(
    {
        "device_id": pl.Int64,
        "model_id": pl.Int64,
        "iteration": pl.Int64,
        "iter_id": pl.Int64,
        "start_ns": pl.Int64,
        "forward_ns": pl.Int64,
        "backward_ns": pl.Int64,
        "end_ns": pl.Int64,
        "iteration_ns": pl.Int64,
        "forward_backward_ns": pl.Int64,
        "refresh_ns": pl.Int64,
        "augmentation_ns": pl.Int64,
    }
)
"""Iterations by device and end, with their durations; null where a key point is missing."""


def iteration_trace(profile: Profile) -> pl.DataFrame:
    """
    Return table :data:`ITERATION_TRACE`.

    An iteration lasts from its start to its end; ``augmentation_ns`` is how long after the end of the latest earlier
    iteration of the device its forward part started.
    """
    return (
        profile.frame("iterations")
        .with_columns(
            (pl.col("end_ns") - pl.col("start_ns")).alias("iteration_ns"),
            (pl.col("backward_ns") - pl.col("forward_ns")).alias("forward_backward_ns"),
            (pl.col("end_ns") - pl.col("backward_ns")).alias("refresh_ns"),
        )
        .select(ITERATION_TRACE.names())
    )


@frozen(kw_only=True)
class GraphIterations:
    """
    The iterations of one graph: how many, and medians in us; ``None`` where the points are not marked.

    ``wait_us`` is the time from the end of the iteration before to the start of the forward part.
    """

    graph: str
    count: int
    iteration_us: float
    forward_backward_us: float | None
    wait_us: float | None


def graph_iterations(profile: Profile) -> tuple[GraphIterations, ...]:
    """Return the iterations of graphs, those that took most time together first."""
    names = graph_names(profile)
    columns = {
        "iteration_ns": "iteration_us",
        "forward_backward_ns": "forward_backward_us",
        "augmentation_ns": "wait_us",
    }
    rows = (
        iteration_trace(profile)
        .filter(pl.col("model_id") != NO_MODEL)
        .group_by("model_id")
        .agg(
            pl.len().alias("count"),
            pl.col("iteration_ns").sum().alias("total"),
            *((pl.col(source).median() / 1000).alias(name) for source, name in columns.items()),
        )
        .sort("total", "model_id", descending=[True, False])
    )
    return tuple(
        GraphIterations(
            graph=names.get(row["model_id"], str(row["model_id"])),
            count=row["count"],
            **{name: row[name] for name in columns.values()},
        )
        for row in rows.iter_rows(named=True)
    )


def graph_names(profile: Profile) -> dict[int, str]:
    """Return the name of every loaded graph by model id."""
    return dict(profile.frame("graphs").select("model_id", "name").iter_rows())


def infer_ids(profile: Profile, starts: pl.DataFrame) -> pl.Series:
    """
    Return the iteration of the model that each row started in, null where none.

    Parameters
    ----------
    starts:
        Columns ``device_id``, ``model_id``, ``start_ns``, in any order.
    """
    iterations = profile.frame("iterations").select(
        "device_id", "model_id", pl.col("start_ns").alias("from_ns"), "end_ns", "iteration"
    )
    placed = (
        starts.with_row_index("row")
        .sort("start_ns")
        .join_asof(
            iterations.sort("from_ns"),
            left_on="start_ns",
            right_on="from_ns",
            by=["device_id", "model_id"],
            check_sortedness=False,
        )
        .sort("row")
    )
    return placed.select(
        pl.when(pl.col("start_ns") <= pl.col("end_ns")).then("iteration").alias("iteration")
    ).to_series()
