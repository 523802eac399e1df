"""aicpu.data: AI CPU kernels with their parts, and the data queue."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables.aicpu.facts import QUEUE_NODES, UNKNOWN_SIZE
from drynpu.deliverables.load_context import LoadContext
from drynpu.raw import decode_stream_task
from drynpu.tables import intervals
from drynpu.tables.columns import frame, texts
from drynpu.tables.sides import DeviceSide

AICPU_KERNELS = pl.Schema(
    {
        "device_id": pl.Int64,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "start_ns": pl.Int64,  # of the run
        "name": pl.String,  # operator, "" if unknown
        "compute_ns": pl.Int64,
        "copy_ns": pl.Int64,
        "run_ns": pl.Int64,
        "dispatch_ns": pl.Int64,
        "total_ns": pl.Int64,  # from the submission to the end
    }
)
"""AI CPU kernels, by device and start."""

DATA_QUEUE = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "action": pl.String,
        "source": pl.String,
        "buffered": pl.Int64,  # elements, null if nobody counted them
    }
)
"""Events of the data preparation queue."""

QUEUE_WAITS = pl.Schema(
    {
        "device_id": pl.Int64,
        "name": pl.String,
        "start_us": pl.Int64,  # of the monotonic clock, as recorded
        "end_us": pl.Int64,
        "queue_size": pl.Int64,  # elements, null if nobody counted them
    }
)
"""Waits for the data queue."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "aicpu_kernels": AICPU_KERNELS,
    "data_queue": DATA_QUEUE,
    "queue_waits": QUEUE_WAITS,
}

_TASK_BITS = 32


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the tables of aicpu.data; kernels without run ticks are passed over, as the vendor does."""

    def tables(side: DeviceSide) -> Mapping[str, pl.DataFrame]:
        nodes, events, waits = (
            context.reader.read(kind, side.device_id)
            for kind in ("aicpu_node", "aicpu_data_preparation", "aicpu_queue")
        )
        return {
            "aicpu_kernels": _kernels(context, side, nodes),
            "data_queue": _events(side, events),
            "queue_waits": _waits(side, waits),
        }

    return context.each_device(SCHEMAS, tables)


def _kernels(context: LoadContext, side: DeviceSide, records: Records) -> pl.DataFrame:
    rows = records[(records["run_start_tick"] != 0) & (records["run_end_tick"] != 0)]
    stream, task = decode_stream_task(rows["stream_id"], rows["task_id"])
    clock = side.clock.tick_to_unix
    start, end = clock(rows["run_start_tick"]), clock(rows["run_end_tick"])
    columns = {
        "device_id": side.device_id,
        "stream_id": stream,
        "task_id": task,
        "start_ns": start,
        "name": _names(context, side.device_id, stream.astype(np.int64) << _TASK_BITS | task, end),
        "compute_ns": _microseconds(rows, "memcpy_start_us", "compute_start_us"),
        "copy_ns": _microseconds(rows, "memcpy_end_us", "memcpy_start_us"),
        "run_ns": end - start,
        "dispatch_ns": rows["dispatch_us"].astype(np.int64) * 1000,
        "total_ns": clock(rows["after_run_tick"]) - clock(rows["submit_tick"]),
    }
    return frame(AICPU_KERNELS, columns).sort("start_ns", maintain_order=True)


def _microseconds(rows: Records, end: str, start: str) -> I64:
    return np.asarray((rows[end].astype(np.int64) - rows[start].astype(np.int64)) * 1000, np.int64)


def _names(context: LoadContext, device_id: int, key: I64, end_ns: I64) -> pl.Series:
    """
    Return the operator of the task with each stream and task id that was running at each end.

    As in the parser, the operator's own information names it: at level0 nothing does.
    """
    if not len(key):
        return pl.Series(dtype=pl.String)
    tasks = context.tasks.filter(pl.col("device_id") == device_id)
    start = tasks["start_ns"].to_numpy()
    task_keys = (tasks["stream_id"].to_numpy() << _TASK_BITS) | tasks["task_id"].to_numpy()
    row = intervals.innermost(start, start + tasks["duration_ns"].to_numpy(), task_keys, end_ns, key)
    known = pl.lit(True) if context.platform.tasks.wide_ids else pl.col("kernel_type") == "AI_CPU"
    names = tasks.select(pl.when(known).then("kernel_name").otherwise(pl.lit("")))
    return pl.concat([pl.Series([""], dtype=pl.String), names.to_series()]).gather(row + 1)


def _events(side: DeviceSide, records: Records) -> pl.DataFrame:
    columns = {
        "device_id": side.device_id,
        "time_ns": records["timestamp"].astype(np.int64) + side.clock.offset_ns,
        "action": _words(records["action"]),
        "source": _words(records["source"]),
        "buffered": _sizes(records["size"]),
    }
    return frame(DATA_QUEUE, columns)


def _sizes(cells: Records) -> pl.Series:
    unknown = cells == UNKNOWN_SIZE
    return pl.Series(np.where(unknown, 0, cells).astype(np.int64)).set(pl.Series(unknown), None)


def _words(cells: Records) -> pl.Series:
    distinct, inverse = np.unique(cells, return_inverse=True)
    words = [bytes(cell).split(b"\0", 1)[0].decode(errors="replace") for cell in distinct]
    return texts(inverse.reshape(-1), lambda place: words[place])


def _waits(side: DeviceSide, records: Records) -> pl.DataFrame:
    columns = {
        "device_id": side.device_id,
        "name": texts(records["node_tag"], lambda tag: QUEUE_NODES.get(tag, "")),
        "start_us": records["start_us"],
        "end_us": records["end_us"],
        "queue_size": _sizes(records["queue_size"]),
    }
    return frame(QUEUE_WAITS, columns)
