"""Averages of memory and cache samples, as the vendor's summaries take them."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile


def memory_averages(profile: Profile, kind: str) -> pl.DataFrame:
    """
    Return the mean of all samples of each memory unit, ``kind`` being ``hbm`` or ``ddr``.

    Returns
    -------
    pl.DataFrame
        ``device_id``, ``unit_id``, ``read_mb_s``, ``write_mb_s``, by device and unit. The first sample, which has no
        time before it and is 0, counts as well (Ascend/msprof ``get_hbm_summary_data``, ``get_ddr_data``).
    """
    samples = profile.frame("memory_bandwidth").filter(pl.col("kind") == kind)
    return (
        samples.group_by("device_id", "unit_id")
        .agg(
            pl.col("mb_s").filter(pl.col("event") == event).mean().fill_null(0.0).alias(f"{event}_mb_s")
            for event in ("read", "write")
        )
        .sort("device_id", "unit_id")
    )


def llc_averages(profile: Profile) -> pl.DataFrame:
    """
    Return the mean of all samples of each last level cache.

    Returns
    -------
    pl.DataFrame
        ``device_id``, ``mode``, ``llc_id``, ``hit_rate`` (of 1), ``mb_s``, by device and cache.
    """
    return (
        profile.frame("llc_samples")
        .group_by("device_id", "mode", "llc_id")
        .agg(pl.col("hit_rate", "mb_s").mean())
        .sort("device_id", "llc_id")
    )
