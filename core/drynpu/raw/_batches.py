"""Telling device tasks apart whose 16-bit ids were used more than once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu.arrays import I64, Array
from drynpu.raw._ids import STREAM_DESTROYED


def batches_from_flips(
    stream_id: npt.ArrayLike, task_id: npt.ArrayLike, start_tick: npt.ArrayLike, flips: Array
) -> I64:
    """
    Return the batch of each device task: the number of flips its stream had seen when it started.

    Device records carry no batch, task_track records do (`split_task_id`); with this the two can be matched.
    A flip whose ``task_id`` is not 0 was overtaken: the tasks right before it with smaller ids belong to the new
    batch as well. A destroyed stream counts as a flip, since its id may be used again.

    Parameters
    ----------
    stream_id, task_id, start_tick:
        One entry per task, in any order; decoded ids (`decode_stream_task`), tick of the task's start record.
    flips:
        ts_track_flip records of the same device, in any order.
    """
    streams = np.asarray(stream_id).astype(np.int64)
    tasks = np.asarray(task_id).astype(np.int64)
    ticks = np.asarray(start_tick).astype(np.int64)
    batch = np.zeros(len(streams), np.int64)
    for stream in np.unique(flips["stream_id"]):
        stream_flips = flips[flips["stream_id"] == stream]
        stream_flips = stream_flips[np.argsort(stream_flips["tick"], kind="stable")]
        rows = np.flatnonzero(streams == stream)
        rows = rows[np.argsort(ticks[rows], kind="stable")]
        first_after = np.searchsorted(ticks[rows], stream_flips["tick"].astype(np.int64), side="left")
        batch[rows] = _count_from(_overtaken(tasks[rows], stream_flips, first_after), len(rows))
    return batch


def _overtaken(tasks: I64, flips: Array, first_after: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Move each flip before the tasks it was overtaken by; ``tasks`` are in time order."""
    moved = first_after.copy()
    for number in np.flatnonzero((flips["task_id"] != 0) & (flips["flip_number"] != STREAM_DESTROYED)):
        before = tasks[: moved[number]] >= int(flips["task_id"][number])
        moved[number] = np.flatnonzero(before)[-1] + 1 if before.any() else 0
    return moved


def _count_from(positions: npt.NDArray[np.intp], length: int) -> I64:
    """Count the positions at or before each index."""
    return np.asarray(np.cumsum(np.bincount(positions, minlength=length + 1)[:length]), np.int64)
