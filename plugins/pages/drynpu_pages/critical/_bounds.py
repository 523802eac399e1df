"""What a critical path consists of, and what could be saved at most."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis import link_operators
from drynpu.arrays import I64
from drynpu.tables import STEP_PREFIX, Profile
from drynpu.tables.intervals import roots

GROUPS = {
    "kernels": ("kernel",),
    "communication": ("collective",),
    "other ranks": ("other ranks",),
    "host": ("host", "task queue", "launch"),
    "between": ("gap", "other stream"),
}
"""What bounds a step -> the kinds of parts that this is."""

BOUNDS = pl.Schema(
    {
        "what": pl.String,
        "count": pl.Int64,
        "us": pl.Float64,  # on the path: what is saved at most where all of it goes
        "share": pl.Float64,  # of the path, 0 to 1
        "start_ns": pl.Int64,  # of the longest part
        "end_ns": pl.Int64,
    }
)
OUTSIDE = "between operators"
"""Time of the host in which no operator ran: the script itself, and libraries that record none."""


def bounds(path: pl.DataFrame, by: str = "group") -> pl.DataFrame:
    """
    Return table :data:`BOUNDS` of a path, the longest first.

    Without some parts a step is shorter by these parts at most: every other way through it remains, and may be
    nearly as long.

    Parameters
    ----------
    by:
        ``group`` for the keys of `GROUPS`, else a column of the path.
    """
    groups = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
    what = pl.col("kind").replace_strict(groups, return_dtype=pl.String) if by == "group" else pl.col(by)
    length = pl.col("end_ns") - pl.col("start_ns")
    whole = path.select(length.sum()).item() or 1
    longest = length.arg_max()
    return (
        path.group_by(what.alias("what"), maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("count"),
            (length.sum() / 1000).alias("us"),
            (length.sum() / whole).alias("share"),
            pl.col("start_ns").get(longest),
            pl.col("end_ns").get(longest),
        )
        .sort("us", "what", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in BOUNDS.items())
    )


def host_shares(profile: Profile, path: pl.DataFrame) -> pl.DataFrame:
    """Return table :data:`BOUNDS` of the host's parts of a path by the outermost operator that ran meanwhile."""
    parts = path.filter(pl.col("kind") == "host").select("start_ns", "end_ns").to_numpy().astype(np.int64)
    operators = link_operators(profile).operators.frame().select("name", "start_ns", "end_ns")
    operators = operators.filter(~pl.col("name").str.starts_with(STEP_PREFIX))
    start, end = (operators[name].to_numpy() for name in ("start_ns", "end_ns"))
    outermost = roots(start, end) == np.arange(len(start))
    named = operators.filter(pl.Series(outermost, dtype=pl.Boolean))
    start, end = start[outermost], end[outermost]
    covered = _covered(parts, end) - _covered(parts, start)
    whole = int((path["end_ns"] - path["start_ns"]).sum()) or 1
    host = int((parts[:, 1] - parts[:, 0]).sum())
    ran = named.with_columns(pl.Series("ns", covered, dtype=pl.Int64)).filter(pl.col("ns") > 0)
    longest = pl.col("ns").arg_max()
    sums = ran.group_by("name", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("count"),
        pl.col("ns").sum(),
        pl.col("start_ns").get(longest),
        pl.col("end_ns").get(longest),
    )
    rest = {"name": OUTSIDE, "count": None, "ns": host - int(covered.sum()), "start_ns": None, "end_ns": None}
    sums = pl.concat([sums, pl.DataFrame([rest], schema=sums.schema)]).filter(pl.col("ns") > 0)
    return (
        sums.with_columns(
            pl.col("name").alias("what"), (pl.col("ns") / 1000).alias("us"), (pl.col("ns") / whole).alias("share")
        )
        .sort("us", "what", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in BOUNDS.items())
    )


def _covered(parts: I64, at: I64) -> I64:
    """Return how much of disjoint *parts*, in order, lies before each time, ns."""
    if not len(parts):
        return np.zeros(len(at), np.int64)
    before = np.concatenate([[0], np.cumsum(parts[:, 1] - parts[:, 0])])
    place = np.searchsorted(parts[:, 0], at, side="right")
    inside = np.minimum(at, parts[np.maximum(place, 1) - 1, 1]) - parts[np.maximum(place, 1) - 1, 0]
    covered: I64 = np.where(place > 0, before[np.maximum(place, 1) - 1] + np.maximum(inside, 0), 0)
    return covered
