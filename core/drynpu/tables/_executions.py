"""Tasks of loaded graphs: the host launches each once, while it loads the graph, and the device runs it many times."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.platforms import Platform
from drynpu.raw import batches_from_flips
from drynpu.tables._schemas import NO_MODEL
from drynpu.tables.device import DeviceTasks
from drynpu.tables.launches import Launches


@frozen(eq=False)
class Executions:
    """
    Which launch each task on a device is an execution of; int64 ``[n]`` columns.

    ``launch`` is the row of the launch, -1 where the host recorded none. ``execution`` counts the earlier executions
    of the same launch, 0 for all where none had any.
    """

    launch: I64 = field(repr=False)
    batch_id: I64 = field(repr=False)
    execution: I64 | int = field(default=0, repr=False)


def find_executions(
    launched: Launches, tasks: DeviceTasks, key: I64, platform: Platform, flips: Callable[[], Records]
) -> Executions:
    """
    Return the launch of each task, by its *key* (`launch_key`) and occurrence.

    Where the host launched a task once and the device ran it again in the same batch of ids, the launch belongs to a
    loaded graph and belongs to all of them (Ascend/msprof analysis/mscalculate/ascend_task/ascend_task_generator.py,
    and the native ascend_task_association.cpp). Where ids come round again without a batch, only launches within a
    call of a model do so. *flips* returns the ts_track_flip records of the device, which tell the batches.
    """
    launch = launched.rows(key, tasks.ordinal)
    left = np.flatnonzero(launch < 0)
    only = launched.alone(key[left]) if len(left) else left
    again, only = left[only >= 0], only[only >= 0]
    if not len(again):
        return Executions(launch, tasks.batch_id)
    batch = _batches(tasks, platform, flips)
    same = _of_loaded_graphs(launched, only, batch[again], platform)
    again, only = again[same], only[same]
    launch[again] = only
    execution = np.zeros(len(launch), np.int64)
    execution[again] = tasks.ordinal[again]
    # Their ids begin again with every execution: what that means elsewhere, a further batch, it does not mean here.
    loaded = np.isin(tasks.stream_id, np.unique(tasks.stream_id[again]))
    return Executions(launch, np.where(loaded, batch, tasks.batch_id), execution)


def _batches(tasks: DeviceTasks, platform: Platform, flips: Callable[[], Records]) -> I64:
    if platform.tasks.wide_ids or not platform.tasks.unique_ids:
        return np.zeros(len(tasks.task_id), np.int64)
    return batches_from_flips(tasks.stream_id, tasks.task_id, tasks.start_tick, flips())


def _of_loaded_graphs(launched: Launches, rows: I64, batch: I64, platform: Platform) -> Bools:
    """Return whether each launch may have run again in a batch."""
    known = launched.table.gather(pl.Series(rows), "host_batch", "model_id")
    if not platform.tasks.unique_ids:
        return np.asarray(known["model_id"].fill_null(NO_MODEL).to_numpy() != NO_MODEL, bool)
    return np.asarray(known["host_batch"].to_numpy() == batch, bool)
