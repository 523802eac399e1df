"""The scopes of a network over time: bars of the layer Scope Layer (mindspore_profiler.md 12.5)."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.arrays import I64, Bools
from drynpu.tables import Profile

SCOPE_BARS = pl.Schema({"name": pl.String, "depth": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64})
"""One row per bar, by depth and start."""

_SCOPES = r"^(Default|Gradients|recompute_Default)"
KERNEL_PLACE = ["device_id", "stream_id", "start_ns"]
"""What tells the kernels of a profile apart."""


def scope_bars(profile: Profile, launches: pl.DataFrame) -> pl.DataFrame:
    """
    Return table :data:`SCOPE_BARS`.

    Operators of the host and tasks of the device lie in the scopes of their own name, or of the name of their launch,
    before its last ``/``. What begins before the one before it has ended is left out. A bar goes on while the
    scopes down to its depth stay the same.

    Parameters
    ----------
    launches:
        Table of ``mindspore_launches``.
    """
    placed = pl.concat([_host(profile), _device(profile, launches)])
    placed = placed.filter(pl.col("scope").list.len() > 0).sort("start_ns", maintain_order=True)
    kept = placed.filter(pl.Series(_one_at_a_time(placed["start_ns"].to_numpy(), placed["end_ns"].to_numpy())))
    return _bars(kept)


def _path(name: pl.Expr) -> pl.Expr:
    """Return the scopes of a name: what stands before its last ``/``, outermost first."""
    parts = name.str.split("/")
    return parts.list.head(parts.list.len() - 1)


def _host(profile: Profile) -> pl.DataFrame:
    scoped = profile.frame("host_cpu_ops").filter(pl.col("name").str.contains(_SCOPES))
    end = pl.col("start_ns") + pl.col("duration_ns")
    return scoped.select("start_ns", end.alias("end_ns"), _path(pl.col("name")).alias("scope"))


def _device(profile: Profile, launches: pl.DataFrame) -> pl.DataFrame:
    name = pl.when(pl.col("kernel_name") == "").then("kernel_type").otherwise("kernel_name")
    launched = launches.filter(~pl.col("is_communication")).select(
        *KERNEL_PLACE, pl.col("launch").str.split("::").list.last().alias("launched_as")
    )
    tasks = (
        profile.tasks.with_columns(name.alias("name"))
        .join(launched.unique(KERNEL_PLACE, keep="last"), on=KERNEL_PLACE, how="left", maintain_order="left")
        .filter(pl.col("name").str.contains(_SCOPES) | pl.col("launched_as").str.contains(_SCOPES).fill_null(False))
    )
    kernel, launch = _path(pl.col("name")), _path(pl.col("launched_as").fill_null(""))
    scope = pl.when(launch.list.len() > kernel.list.len()).then(launch).otherwise(kernel)
    end = pl.col("start_ns") + pl.col("duration_ns")
    return tasks.select("start_ns", end.alias("end_ns"), scope.alias("scope"))


def _one_at_a_time(start: I64, end: I64) -> Bools:
    """Return which of the intervals, in order of start, begin when the last one that was kept has ended."""
    count = len(start)
    kept = np.zeros(count + 1, bool)
    kept[0] = True
    # From each the next one that may be kept, of which the place after the last is its own; doubled at every turn.
    following = np.maximum(np.searchsorted(start, end, side="left"), np.arange(1, count + 1))
    jump = np.append(following, count)
    for _ in range(max(count, 1).bit_length()):
        kept[jump[np.flatnonzero(kept)]] = True
        jump = jump[jump]
    return kept[:count]


def _bars(rows: pl.DataFrame) -> pl.DataFrame:
    exploded = (
        rows.with_row_index("row")
        .explode("scope")
        .with_columns(pl.int_range(pl.len(), dtype=pl.Int64).over("row").alias("depth"))
        .with_columns(pl.col("scope").shift(1).over("depth").alias("before"))
        .with_columns((pl.col("scope") == pl.col("before")).fill_null(False).cast(pl.Int8).alias("same"))
        .with_columns((pl.col("same").cum_min().over("row") == 1).alias("goes_on"))
        .with_columns((~pl.col("goes_on")).cum_sum().over("depth").alias("bar"))
    )
    return (
        exploded.group_by("depth", "bar", maintain_order=True)
        .agg(pl.col("scope").first().alias("name"), pl.col("start_ns").first(), pl.col("end_ns").last())
        .sort("depth", "start_ns", maintain_order=True)
        .select(pl.col(name).cast(dtype) for name, dtype in SCOPE_BARS.items())
    )
