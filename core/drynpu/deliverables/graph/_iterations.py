"""
Key points of the task scheduler to iterations (cann_msprof.md 5).

The marks of a model are read in time order by the rules of the vendor's state machine (Ascend/msprof
mscalculate/step_trace): an iteration begins with a model start, or where the one before it ended, and ends with an
iteration end, or with a model end that no iteration end came before.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from drynpu.arrays import I64, Bools
from drynpu.layouts.graph import GET_NEXT_TAG, REDUCE_TAG, STEP_END_TAG, STEP_START_TAG
from drynpu.tables.columns import empty, frame

ITERATIONS = pl.Schema(
    {
        "device_id": pl.Int64,
        "model_id": pl.Int64,  # 4294967295: explicit steps
        "iteration": pl.Int64,  # of the model, from 1 in time order; of explicit steps their own number
        "iter_id": pl.Int64,  # over all models of the device by end, from 1
        "start_ns": pl.Int64,
        "forward_ns": pl.Int64,  # null where not marked
        "backward_ns": pl.Int64,  # null where not marked
        "end_ns": pl.Int64,
        "augmentation_ns": pl.Int64,  # forward start after the last earlier iteration end; null without either
    }
)
"""One row per iteration, by device and end."""

_INTERVAL = {
    "device_id": pl.Int64,
    "model_id": pl.Int64,
    "iteration": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
REDUCES = pl.Schema(_INTERVAL)
"""All-reduces of iterations, in time order."""
GET_NEXTS = pl.Schema(_INTERVAL)
"""Get-next operations of iterations, in time order."""

_MODEL_START, _MODEL_END, _FORWARD, _BACKWARD, _ITERATION_END = range(5)
_NULL = -1


def iterations_of(marks: pl.DataFrame, notes: list[str]) -> dict[str, pl.DataFrame]:
    """Return the tables ``iterations``, ``reduces`` and ``get_nexts`` of step marks (schema STEP_MARKS)."""
    whole, reduces, nexts = [empty(ITERATIONS)], [empty(REDUCES)], [empty(GET_NEXTS)]
    is_step = pl.col("tag_id").is_in([STEP_START_TAG, STEP_END_TAG])
    ordered = marks.sort("device_id", "model_id", "time_ns", maintain_order=True)
    for (device, model), rows in ordered.filter(~is_step).group_by("device_id", "model_id", maintain_order=True):
        whole_columns, reduce_columns, next_columns = _of_model(rows, notes)
        key = {"device_id": device, "model_id": model}
        whole.append(frame(ITERATIONS, {**key, "iter_id": 0, "augmentation_ns": None, **whole_columns}))
        reduces.append(frame(REDUCES, {**key, **reduce_columns}))
        nexts.append(frame(GET_NEXTS, {**key, **next_columns}))
    whole.append(_steps(ordered.filter(is_step), notes))
    table = pl.concat(whole).with_columns(
        pl.col("forward_ns", "backward_ns").replace(_NULL, None),
    )
    return {"iterations": _numbered(table), "reduces": pl.concat(reduces), "get_nexts": pl.concat(nexts)}


def _of_model(rows: pl.DataFrame, notes: list[str]) -> tuple[dict[str, I64], dict[str, I64], dict[str, I64]]:
    """Return columns of the iterations, all-reduces and get-nexts of one model on one device."""
    tag, time = rows["tag_id"].to_numpy(), rows["time_ns"].to_numpy()
    opened, closed = _bounds(tag)
    position = np.arange(len(tag))
    around = np.searchsorted(closed, position, side="left")
    inside = around < len(closed)
    inside[inside] = opened[around[inside]] < position[inside]
    iteration = np.where(inside, around, _NULL)
    start, end = time[opened], time[closed]
    columns = {
        "iteration": np.arange(1, len(closed) + 1),
        "start_ns": start,
        "end_ns": end,
        "forward_ns": _last(iteration, time, inside & (tag == _FORWARD), len(closed)),
        "backward_ns": _last(iteration, time, inside & (tag == _BACKWARD), len(closed)),
    }
    good = end > start
    if not good.all():
        notes.append(f"{int((~good).sum())} iteration(s) of a model start where they end and were rejected")
    stream = rows["stream_id"].to_numpy()
    pairs = []
    for first, beyond in ((REDUCE_TAG, GET_NEXT_TAG), (GET_NEXT_TAG, STEP_START_TAG)):
        chosen = np.flatnonzero((iteration >= 0) & (tag >= first) & (tag < beyond))
        chosen = chosen[good[iteration[chosen]]] if len(good) else chosen
        # All-reduces of a stream follow each other; get-nexts are told apart by their tags.
        key = stream if first == REDUCE_TAG else stream * STEP_START_TAG + tag // 2
        pairs.append(_pairs(chosen, iteration, key, tag, time))
    return {name: column[good] for name, column in columns.items()}, pairs[0], pairs[1]


def _bounds(tag: I64) -> tuple[I64, I64]:
    """Return the rows of the marks that open and close each iteration."""
    core = np.flatnonzero((tag == _MODEL_START) | (tag == _MODEL_END) | (tag == _ITERATION_END))
    kind = tag[core]
    before = np.concatenate(([_NULL], kind[:-1]))
    # A model end says nothing where no model has just started.
    keep = (kind != _MODEL_END) | (before == _MODEL_START)
    core, kind = core[keep], kind[keep]
    place = np.arange(len(core))
    state = np.maximum.accumulate(np.where(kind != _ITERATION_END, place, _NULL)) if len(core) else place
    running = (state >= 0) & (kind[np.maximum(state, 0)] == _MODEL_START)
    closing = np.flatnonzero((kind == _MODEL_END) | ((kind == _ITERATION_END) & running))
    return core[closing - 1], core[closing]


def _last(iteration: I64, time: I64, chosen: Bools, count: int) -> I64:
    """Return the time of the last chosen mark of each iteration, -1 if there is none."""
    last = np.full(count, _NULL, np.int64)
    last[iteration[chosen]] = time[chosen]
    return last


def _pairs(rows: I64, iteration: I64, key: I64, tag: I64, time: I64) -> dict[str, I64]:
    """Join each start mark (even tag) with the end mark that follows it under the same key."""
    rows = rows[np.lexsort((rows, key[rows], iteration[rows]))]
    first, second = rows[:-1], rows[1:]
    same = (key[first] == key[second]) & (iteration[first] == iteration[second])
    match = same & (tag[first] % 2 == 0) & (tag[second] % 2 == 1)
    begin, end = first[match], second[match]
    order = np.argsort(begin, kind="stable")
    return {
        "iteration": iteration[begin[order]] + 1,
        "start_ns": time[begin[order]],
        "end_ns": time[end[order]],
    }


def _steps(marks: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Return explicit steps: exactly one start and one end each."""
    steps = marks.group_by("device_id", "model_id", "index_id", maintain_order=True).agg(
        pl.col("time_ns").min().alias("start_ns"), pl.col("time_ns").max().alias("end_ns"), pl.len().alias("marks")
    )
    good = steps.filter((pl.col("marks") == 2) & (pl.col("end_ns") > pl.col("start_ns")))
    if good.height < steps.height:
        notes.append(f"{steps.height - good.height} step(s) have no start and end mark that differ and were rejected")
    columns = {
        "iteration": pl.col("index_id"),
        "iter_id": pl.lit(0),
        "forward_ns": pl.lit(_NULL),
        "backward_ns": pl.lit(_NULL),
        "augmentation_ns": pl.lit(None),
    }
    return good.with_columns(**columns).select(pl.col(name).cast(dtype) for name, dtype in ITERATIONS.items())


def _numbered(table: pl.DataFrame) -> pl.DataFrame:
    """Number the iterations of each device by end, and add how long each waited for its data."""
    parts = [empty(ITERATIONS)]
    for _, rows in table.sort("device_id", "end_ns", maintain_order=True).group_by("device_id", maintain_order=True):
        end, place = rows["end_ns"].to_numpy(), np.arange(rows.height)
        forward = rows["forward_ns"].fill_null(_NULL).to_numpy()
        before = np.minimum(np.searchsorted(end, forward, side="left"), place) - 1
        waited = np.where((forward >= 0) & (before >= 0), forward - end[np.maximum(before, 0)], _NULL)
        parts.append(
            rows.with_columns(
                pl.Series("iter_id", place + 1, dtype=pl.Int64),
                pl.Series("augmentation_ns", waited, dtype=pl.Int64).replace(_NULL, None),
            )
        )
    return pl.concat(parts)
