"""Ranks and links that are slower than the others."""

from __future__ import annotations

import polars as pl

SLOW_SHARE = 0.2
"""How far a rank's or link's value has to be from the mean of all (mindinsight_dashboard.md 11)."""


def slow_ranks(steps: pl.DataFrame) -> pl.DataFrame:
    """
    Return ranks that hold the others up: columns ``rank``, ``us``, ``share`` above the mean of all.

    What a rank does by itself in a step, computing and free time, is compared; its waiting for others shows as
    communication.
    """
    alone = steps.group_by("rank").agg((pl.col("computing_us") + pl.col("free_us")).mean().alias("us"))
    share = (pl.col("us") / pl.col("us").mean() - 1).alias("share")
    return alone.with_columns(share).filter(pl.col("share") > SLOW_SHARE).sort("share", descending=True)


def slow_links(links: pl.DataFrame) -> pl.DataFrame:
    """Return links that are slow for their kind: links of `cluster_links` with ``share`` below the mean of all."""
    share = (1 - pl.col("gb_s") / pl.col("gb_s").mean().over("transport")).alias("share")
    return links.with_columns(share).filter(pl.col("share") > SLOW_SHARE).sort("share", descending=True)
