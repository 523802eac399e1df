"""Tasks by their number in the database, ``globalTaskId``, and the numbers of rows that belong to a task."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64
from drynpu.tables import Profile
from drynpu.tables.stored import Stored, narrow, stored

TASK_ID = "globalTaskId"
TASK_KEY = ("device_id", "stream_id", "task_id", "batch_id", "context_id")

_LARGEST_KEY = 2**62


def numbered_tasks(profile: Profile) -> Stored:
    """Return tasks in order of device and start: the row of each is its ``globalTaskId``."""
    tasks: Stored = profile.keep(
        numbered_tasks.__qualname__, lambda: profile.table("tasks").ordered("device_id", "start_ns")
    )
    return tasks


def task_numbers(offset: int) -> pl.Expr:
    """Return the column ``globalTaskId`` of tasks from row *offset* on."""
    return pl.int_range(offset, offset + pl.len(), dtype=pl.Int64).alias(TASK_ID)


def kernel_task_ids(profile: Profile) -> pl.Series:
    """Return the ``globalTaskId`` of each kernel of the profile."""
    ids: pl.Series = profile.keep(
        kernel_task_ids.__qualname__, lambda: find_task_ids(profile.table("kernels"), numbered_tasks(profile))
    )
    return ids


def find_task_ids(rows: Stored | pl.DataFrame, tasks: Stored | pl.DataFrame) -> pl.Series:
    """
    Return the ``globalTaskId`` of the task of each row, null where there is none; in the fewest bytes.

    Ids of tasks come round again in a long run: of several tasks with the same ones it is the nearest in time.
    *tasks* come from `numbered_tasks`.
    """
    wanted, known = stored(rows), stored(tasks)
    starts, places = known.column("start_ns").to_numpy(), _device_rows(known)
    parts = [narrow(_begun_with(part, known, starts, places)) for part in wanted.slices(*TASK_KEY, "start_ns")]
    del starts
    ids = pl.concat([part.cast(pl.Int64) for part in parts])
    if ids.null_count():
        # Most rows begin with their task; the others look among all that have their ids.
        missing = ids.is_null().arg_true()
        left = wanted.gather(missing, *TASK_KEY, "start_ns")
        ids = ids.scatter(missing, _nearest(left, _with_ids_of(left, known)))
    return narrow(ids).alias(TASK_ID)


def _device_rows(tasks: Stored) -> dict[int, slice]:
    """Return the rows of each device."""
    rows: dict[int, slice] = {}
    row = 0
    for part in tasks.slices("device_id"):
        for device, count in part["device_id"].value_counts().sort("device_id").iter_rows():
            rows[device] = slice(rows[device].start if device in rows else row, row + count)
            row += count
    return rows


def _begun_with(part: pl.DataFrame, tasks: Stored, starts: I64, places: Mapping[int, slice]) -> pl.Series:
    """Return the numbers of tasks that begin when the rows of a part do and have their ids, null where none does."""
    same = [*TASK_KEY, "start_ns"]
    candidates = [pl.DataFrame(schema=dict.fromkeys([*same, TASK_ID], pl.Int64))]
    for device in part["device_id"].unique().to_list():
        if device not in places:
            continue
        of_device, times = places[device], part.filter(pl.col("device_id") == device)["start_ns"].to_numpy()
        edges = np.searchsorted(starts[of_device], [times.min(), times.max() + 1]) + of_device.start
        low, high = (int(edge) for edge in edges)
        candidates.append(tasks.slice(low, high - low, *same).with_columns(task_numbers(low)))
    known = pl.concat(candidates).unique(same, keep="last")
    return part.join(known, on=same, how="left", maintain_order="left")[TASK_ID]


def _with_ids_of(rows: pl.DataFrame, tasks: Stored) -> pl.DataFrame:
    """Return the numbered tasks that have the ids of some row."""
    ids = rows.select(TASK_KEY).unique()
    parts, offset = [], 0
    for part in tasks.slices(*TASK_KEY, "start_ns"):
        parts.append(part.with_columns(task_numbers(offset)).join(ids, on=TASK_KEY, how="semi"))
        offset += part.height
    return pl.concat(parts)


def _nearest(rows: pl.DataFrame, tasks: pl.DataFrame) -> pl.Series:
    wanted, known = _keys(rows.select(TASK_KEY), tasks.select(TASK_KEY))
    numbers = tasks.select(known.alias("key"), "start_ns", TASK_ID)
    searched = rows.select(wanted.alias("key"), "start_ns").with_row_index("row")
    if known.n_unique() < known.len():
        nearest = searched.sort("start_ns").join_asof(
            numbers.sort("start_ns"), on="start_ns", by="key", strategy="nearest", check_sortedness=False
        )
        return nearest.sort("row")[TASK_ID]
    return searched.join(numbers.drop("start_ns"), on="key", how="left", maintain_order="left")[TASK_ID]


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
