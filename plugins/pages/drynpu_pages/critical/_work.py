"""What ran on the devices, each with the lanes on which it stands: its stream, of a collective its tasks' streams."""

from __future__ import annotations

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.analysis.communication import OPERATOR_KEY
from drynpu.arrays import I64, Bools
from drynpu.tables import Profile

_TASK = ("device_id", "stream_id", "start_ns", "duration_ns", "kernel_type", "connection_id", "model_id")
_WAITS = r"(?i)(event|notify)[ _]?wait"
"""Tasks that only wait until another stream, or another rank, has come to a point."""
_NO_LANE = -1


@frozen(eq=False)
class Work:
    """
    Tasks and collectives that took time, by their ends; all arrays of shape ``[n]``.

    Tasks of a collective are no entries of their own.

    Attributes
    ----------
    rows:
        Columns ``device_id stream_id start_ns end_ns connection_id model_id row is_collective is_wait``; ``row`` is the
        place in the table of tasks or of communication operations.
    lane_items, lanes:
        Entries with the number of each lane on which they stand, ``[m]``, by lane and end.
    """

    rows: pl.DataFrame = field(repr=False)
    lane_items: I64 = field(repr=False)
    lanes: I64 = field(repr=False)

    @property
    def start(self) -> I64:
        """When they begin, ns."""
        return self.rows["start_ns"].to_numpy()

    @property
    def end(self) -> I64:
        """When they end, ns."""
        return self.rows["end_ns"].to_numpy()

    @property
    def is_wait(self) -> Bools:
        """Whether they only wait for another stream."""
        return self.rows["is_wait"].to_numpy()


def work_of(profile: Profile) -> Work:
    """Return what ran on the devices of a profile."""
    tasks = profile.compact("tasks", *_TASK).with_row_index("row")
    operations = profile.communication_ops.with_row_index("operation")
    member = _operation_of(tasks, operations)
    alone = tasks.filter(member < 0).with_columns(
        pl.lit(value=False).alias("is_collective"),
        pl.col("kernel_type").cast(pl.String).str.contains(_WAITS).alias("is_wait"),
    )
    whole = operations.select(
        pl.col("operation").alias("row"),
        *("device_id", "start_ns", "duration_ns", "connection_id", "model_id"),
        pl.lit(_NO_LANE, pl.Int64).alias("stream_id"),
        pl.lit(value=True).alias("is_collective"),
        pl.lit(value=False).alias("is_wait"),
    )
    names = whole.columns
    rows = (
        pl.concat([alone.select(names), whole])
        .filter(pl.col("duration_ns") > 0)
        .with_columns((pl.col("start_ns") + pl.col("duration_ns")).alias("end_ns"))
        .sort("end_ns", "start_ns", "device_id", "row", maintain_order=True)
        .with_row_index("item")
        .with_columns(pl.col("item").cast(pl.Int64))
    )
    return _in_lanes(rows, tasks.select("device_id", "stream_id", pl.Series("operation", member)))


def _operation_of(tasks: pl.DataFrame, operations: pl.DataFrame) -> I64:
    """Return for each task the row of the communication operation that it is part of, -1 for none."""
    if operations.is_empty():
        return np.full(tasks.height, -1, np.int64)
    connected = operations.filter(pl.col("connection_id") > 0).select(
        *OPERATOR_KEY,
        pl.col("start_ns"),
        (pl.col("start_ns") + pl.col("duration_ns")).alias("until_ns"),
        pl.col("operation").cast(pl.Int64),
    )
    near = (
        tasks.select("row", *OPERATOR_KEY, "start_ns")
        .sort("start_ns")
        .join_asof(
            connected.sort("start_ns"), on="start_ns", by=OPERATOR_KEY, strategy="backward", check_sortedness=False
        )
        .sort("row")
    )
    inside = pl.when(pl.col("start_ns") <= pl.col("until_ns")).then("operation").fill_null(-1).alias("operation")
    return near.select(inside)["operation"].to_numpy()


def _in_lanes(rows: pl.DataFrame, members: pl.DataFrame) -> Work:
    """Return the work with its lanes; a collective stands on the streams of its tasks, or on a lane of its own."""
    alone = rows.filter(~pl.col("is_collective")).select("item", "device_id", "stream_id")
    streams = members.filter(pl.col("operation") >= 0).unique()
    collectives = rows.filter("is_collective").select("item", "device_id", pl.col("row").cast(pl.Int64))
    spread = collectives.join(streams, left_on=["row", "device_id"], right_on=["operation", "device_id"], how="left")
    spread = spread.with_columns(pl.col("stream_id").fill_null(_NO_LANE)).select(alone.columns)
    placed = pl.concat([alone, spread]).with_columns(
        pl.struct("device_id", "stream_id").rank("dense").cast(pl.Int64).alias("lane")
    )
    placed = placed.sort("lane", "item")
    return Work(rows, placed["item"].to_numpy(), placed["lane"].to_numpy())


def latest_before(groups: I64, times: I64, at_groups: I64, at: I64) -> I64:
    """
    Return for each query the last place of its group whose time is not after it, -1 for none.

    Parameters
    ----------
    groups, times:
        Shape ``[n]``, sorted by group and time.
    at_groups, at:
        Shape ``[q]``.
    """
    if not len(groups) or not len(at):
        return np.full(len(at), -1, np.int64)
    begins = np.concatenate([[True], groups[1:] != groups[:-1]])
    distinct, codes = groups[begins], np.cumsum(begins) - 1
    low = min(int(times.min()), int(at.min()))
    span = max(int(times.max()), int(at.max())) - low + 1
    code = np.minimum(np.searchsorted(distinct, at_groups), len(distinct) - 1)
    keys = codes * span + (times - low)
    place = np.searchsorted(keys, code * span + (at - low), side="right") - 1
    is_same = (place >= 0) & (distinct[code] == at_groups)
    is_same &= groups[np.maximum(place, 0)] == at_groups
    return np.where(is_same, place, -1).astype(np.int64)
