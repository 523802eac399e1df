"""Tasks by their number in the database, ``globalTaskId``, and the numbers of rows that belong to a task."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile

TASK_ID = "globalTaskId"
TASK_KEY = ("device_id", "stream_id", "task_id", "batch_id", "context_id")

_LARGEST_KEY = 2**62


def numbered_tasks(profile: Profile, *columns: str) -> pl.DataFrame:
    """Return tasks in order of device and start, which their ``globalTaskId`` counts from 0; texts as categories."""
    tasks = profile.compact("tasks", *TASK_KEY, "start_ns", *columns)
    tasks = tasks.sort("device_id", "start_ns", maintain_order=True).with_row_index(TASK_ID)
    return tasks.with_columns(pl.col(TASK_ID).cast(pl.Int64))


def find_task_ids(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.Series:
    """
    Return the ``globalTaskId`` of the task of each row, null where there is none.

    Ids of tasks come round again in a long run: of several tasks with the same ones it is the nearest in time.
    """
    wanted, known = _keys(rows.select(TASK_KEY), tasks.select(TASK_KEY))
    numbers = tasks.select(known.alias("key"), "start_ns", TASK_ID)
    searched = rows.select(wanted.alias("key"), "start_ns").with_row_index("row")
    if known.n_unique() < known.len():
        found = searched.sort("start_ns").join_asof(
            numbers.sort("start_ns"), on="start_ns", by="key", strategy="nearest", check_sortedness=False
        )
        return found.sort("row")[TASK_ID]
    return searched.join(numbers.drop("start_ns"), on="key", how="left", maintain_order="left")[TASK_ID]


def kernel_task_ids(profile: Profile, tasks: pl.DataFrame) -> pl.Series:
    """Return the ``globalTaskId`` of each kernel of the profile."""
    return find_task_ids(profile.compact("kernels", *TASK_KEY, "start_ns"), tasks)


def _keys(*frames: pl.DataFrame) -> list[pl.Series]:
    """Return one number per row that is the same where all columns are; joins by one number take far less room."""
    keys = [pl.repeat(0, frame.height, dtype=pl.Int64, eager=True) for frame in frames]
    most = 1
    for name in frames[0].columns:
        distinct = pl.concat([frame[name].unique() for frame in frames]).unique().sort()
        if most * distinct.len() >= _LARGEST_KEY:
            numbers = pl.concat([key.unique() for key in keys]).unique().sort()
            keys, most = [numbers.search_sorted(key).cast(pl.Int64) for key in keys], numbers.len()
        places = [distinct.search_sorted(frame[name]).cast(pl.Int64) for frame in frames]
        keys = [key * distinct.len() + place for key, place in zip(keys, places, strict=True)]
        most *= distinct.len()
    return keys
