"""What a cluster analysis says at a glance: steps, waiting, links, and who is slow."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis import CLUSTER_STEPS, slow_links, slow_ranks
from drynpu_cluster import _facts as f
from drynpu_cluster._groups import Group

RANKS = pl.Schema(
    {
        "rank": pl.String,
        "step_us": pl.Float64,
        "computing_us": pl.Float64,
        "communication_us": pl.Float64,
        "free_us": pl.Float64,
        "collectives": pl.UInt32,
        "wait_us": pl.Float64,
        "transit_us": pl.Float64,
        "difference": pl.Float64,
    }
)
"""One row per rank: its mean step, its collectives in all steps, and how far its step is from the mean of all ranks."""

LINKS = pl.Schema(
    {
        "source": pl.Int64,
        "target": pl.Int64,
        "transport": pl.String,
        "size_bytes": pl.Int64,
        "time_us": pl.Float64,
        "gb_s": pl.Float64,
    }
)
"""One row per link and transport; links of a rank to itself are left out."""

_TEXT_STEPS = {
    "computing_us": "Computing",
    "communication_not_overlapped_us": "Communication(Not Overlapped)",
    "overlapped_us": "Overlapped",
    "free_us": "Free",
}
_DB_STEPS = {
    "computing_us": "computing",
    "communication_not_overlapped_us": "communication_not_overlapped",
    "overlapped_us": "overlapped",
    "free_us": "free",
}


@frozen(eq=False)
class Overview:
    """
    The tables behind what is shown.

    Attributes
    ----------
    slow_ranks, slow_links:
        Those that stand out, the worst first, as `drynpu.analysis` finds them.
    """

    steps: pl.DataFrame
    ranks: pl.DataFrame
    links: pl.DataFrame
    groups: tuple[Group, ...]
    slow_ranks: pl.DataFrame
    slow_links: pl.DataFrame
    form: str = ""


def text_overview(
    steps: pl.DataFrame, operations: pl.DataFrame, sums: pl.DataFrame, groups: Sequence[Group]
) -> Overview:
    """Return the overview of texts: tables of all ranks, and the sums of links."""
    waits = pl.DataFrame()
    if operations.height:
        waits = operations.group_by("rank").agg(
            pl.len().alias("collectives"),
            (pl.col("wait_ms").sum() * 1000).alias("wait_us"),
            (pl.col("transit_ms").sum() * 1000).alias("transit_us"),
        )
    return _overview(_steps(steps, _TEXT_STEPS), waits, _links(sums), groups)


def db_overview(
    steps: pl.DataFrame, operations: pl.DataFrame, matrix: pl.DataFrame, groups: Sequence[Group]
) -> Overview:
    """Return the overview of databases: tables of all ranks, and the rows of the matrix."""
    waits, sums = pl.DataFrame(), pl.DataFrame()
    if operations.height:
        waits = operations.group_by("rank").agg(
            pl.len().alias("collectives"),
            (pl.col("wait_time").sum() * 1000).alias("wait_us"),
            (pl.col("transit_time").sum() * 1000).alias("transit_us"),
        )
    if matrix.height:
        sums = matrix.filter(pl.col("hccl_op_name") == f.TOTAL).select(
            pl.col("src_rank").cast(pl.Int64).alias("source"),
            pl.col("dst_rank").cast(pl.Int64).alias("target"),
            pl.col("transport_type").alias("transport"),
            pl.col("transit_size").alias("size_mb"),
            pl.col("transit_time").alias("time_ms"),
        )
    return _overview(_steps(steps, _DB_STEPS), waits, _links(sums), groups)


def _steps(steps: pl.DataFrame, names: dict[str, str]) -> pl.DataFrame:
    """Return table `CLUSTER_STEPS`, by rank; what a file does not have is null."""
    if steps.is_empty():
        return pl.DataFrame(schema=CLUSTER_STEPS)
    columns = {name: pl.col(title) if title in steps.columns else pl.lit(None) for name, title in names.items()}
    parts = ("computing_us", "communication_not_overlapped_us", "free_us")
    return (
        steps.sort("rank", maintain_order=True)
        .select(pl.col("rank").cast(pl.String), "step", **columns)
        .with_columns(pl.sum_horizontal(parts).alias("total_us"))
        .select(pl.col(name).cast(kind) for name, kind in CLUSTER_STEPS.items())
    )


def _links(sums: pl.DataFrame) -> pl.DataFrame:
    """Return table `LINKS` of the sums of groups and steps."""
    if sums.is_empty():
        return pl.DataFrame(schema=LINKS)
    between = sums.filter((pl.col("source") != pl.col("target")) & (pl.col("transport") != "LOCAL"))
    grouped = between.group_by("source", "target", "transport").agg(pl.col("size_mb", "time_ms").sum())
    rate = pl.when(pl.col("time_ms") > 0).then(pl.col("size_mb") / pl.col("time_ms"))
    return (
        grouped.with_columns(
            (pl.col("size_mb") * 1e6).round().alias("size_bytes"),
            (pl.col("time_ms") * 1000).alias("time_us"),
            rate.alias("gb_s"),
        )
        .sort("source", "target", "transport")
        .select(pl.col(name).cast(kind) for name, kind in LINKS.items())
    )


def _overview(steps: pl.DataFrame, waits: pl.DataFrame, links: pl.DataFrame, groups: Sequence[Group]) -> Overview:
    means = steps.group_by("rank", maintain_order=True).agg(
        pl.col("total_us").mean().alias("step_us"),
        pl.col("computing_us").mean(),
        pl.col("communication_not_overlapped_us").mean().alias("communication_us"),
        pl.col("free_us").mean(),
    )
    if waits.is_empty():
        waits = pl.DataFrame(schema={name: RANKS[name] for name in ("rank", "collectives", "wait_us", "transit_us")})
    ranks = means.join(
        waits.with_columns(pl.col("rank").cast(pl.String)), on="rank", how="left", maintain_order="left"
    ).with_columns((pl.col("step_us") / pl.col("step_us").mean() - 1).alias("difference"))
    return Overview(
        steps,
        ranks.select(pl.col(name).cast(kind) for name, kind in RANKS.items()),
        links,
        tuple(groups),
        slow_ranks(steps),
        slow_links(links),
    )
