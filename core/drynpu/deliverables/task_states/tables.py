"""The states that tasks came to."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.schedulers import TS_TRACK_STATE, TsState
from drynpu.tables.columns import frame
from drynpu.tables.sides import DeviceSide

TASK_STATES = pl.Schema(
    {
        "device_id": pl.Int64,
        "task_type": pl.Int64,  # TsTaskType
        "task_id": pl.Int64,
        "stream_id": pl.Int64,
        **dict.fromkeys(("waiting_ns", "pending_ns", "running_ns", "complete_ns"), pl.Int64),
    }
)
"""When each run of a task came to its states, null for those that it was not in; by device, task and time."""

SCHEMAS: Mapping[str, pl.Schema] = {"task_states": TASK_STATES}
_KEY = ("task_id", "stream_id")
_STATES = (TsState.WAITING, TsState.PENDING, TsState.RUNNING)


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return the states that the scheduler reports; on chips with another scheduler there are none."""
    if context.platform.tasks.record != TS_TRACK_STATE.name:
        return {}
    return context.each_device(SCHEMAS, lambda side: {"task_states": _runs(context, side)})


def _runs(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    records = context.reader.read(TS_TRACK_STATE.name, side.device_id)
    columns = {name: records[name].astype("i8") for name in ("task_type", "state", *_KEY)}
    complete = pl.col("state") == TsState.COMPLETE
    states = (
        pl.DataFrame({**columns, "ns": side.clock.tick_to_unix(records["tick"])})
        .with_columns(pl.col("stream_id") % 2048)
        .sort(*_KEY, "ns", "state", maintain_order=True)
        .with_columns(complete.cum_sum().shift(1, fill_value=0).over(_KEY).alias("run"))
    )
    runs = (
        states.group_by(*_KEY, "run", maintain_order=True)
        .agg(
            pl.col("task_type").last(),
            pl.col("ns").filter(complete).last().alias("complete_ns"),
            *(pl.col("ns").filter(pl.col("state") == each).last().alias(f"{each.name.lower()}_ns") for each in _STATES),
        )
        .drop_nulls("complete_ns")
        .with_columns(pl.lit(side.device_id).alias("device_id"))
    )
    return frame(TASK_STATES, {name: runs[name] for name in TASK_STATES})
