"""Which module of a network was at work when something happened on the host."""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.analysis._kept import once_per_profile
from drynpu.analysis.python_frames import python_frames
from drynpu.arrays import I64
from drynpu.layouts.framework_torch import MODULE_PREFIX
from drynpu.tables import Profile, intervals

MODULE_CALLS = pl.Schema({"name": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64})
"""One row per call of a module (``Conv2d_0``), by start."""

_MODULE_EVENT = r"######|^nn\.Module: "


@once_per_profile
def module_calls(profile: Profile) -> pl.DataFrame:
    """Return table :data:`MODULE_CALLS`; empty where modules were not recorded (``with_modules``)."""
    calls = profile.python_calls
    if not calls["name"].str.contains(_MODULE_EVENT).any():
        return pl.DataFrame(schema=MODULE_CALLS)
    # Returns have no name of their own, so that the frames of modules are found among the frames of all functions.
    return (
        python_frames(calls)
        .filter(pl.col("name").str.starts_with(MODULE_PREFIX))
        .sort("start_ns")
        .select(pl.col("name").str.strip_prefix(MODULE_PREFIX), "start_ns", "end_ns")
    )


def modules_at(profile: Profile, time_ns: I64) -> pl.Series:
    """
    Return the innermost module open at each time, ``""`` for none.

    In backward propagation no module is open. There it is the module of the forward operator that has the sequence
    number of the operator that autograd runs.

    Parameters
    ----------
    time_ns:
        Shape ``[n]``, times of the host.
    """
    calls = module_calls(profile)
    names = _open_names(calls, "name", time_ns)
    if calls.is_empty():
        return names
    backward = _backward_modules(profile, calls)
    behind = _open_names(backward, "name", time_ns)
    return pl.select(pl.when(names == "").then(behind).otherwise(names)).to_series().alias("module")


def _open_names(rows: pl.DataFrame, column: str, time_ns: I64) -> pl.Series:
    """Return the text of the row open at each time, of those that opened last; ``""`` for none."""
    same = np.zeros(rows.height, np.int64)
    starts, ends = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    place = intervals.innermost(starts, ends, same, time_ns, np.zeros(len(time_ns), np.int64))
    names: pl.Series = pl.concat([pl.Series([""], dtype=pl.String), rows[column].cast(pl.String)]).gather(place + 1)
    return names.alias("module")


def _backward_modules(profile: Profile, calls: pl.DataFrame) -> pl.DataFrame:
    """
    Return what autograd runs for a forward operator, with that operator's module.

    As in the vendor's timeline, an operator with a forward thread belongs to the last one without that has its number.
    """
    ops = profile.host_ops.filter(pl.col("sequence") >= 0).select("sequence", "start_ns", "end_ns", "fwd_tid")
    forward = ops.filter(pl.col("fwd_tid") == 0).unique("sequence", keep="last", maintain_order=True)
    named = forward.select("sequence").with_columns(_open_names(calls, "name", forward["start_ns"].to_numpy()))
    backward = ops.filter(pl.col("fwd_tid") != 0)
    return backward.join(named, on="sequence", how="inner").sort("start_ns").rename({"module": "name"})
