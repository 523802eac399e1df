"""MindSpore's analysis of the data pipeline: minddata_pipeline_raw and _summary (mindspore_profiler.md 12.4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from attrs import frozen

from drynpu.products.mindspore._minddata_advice import Pipeline, advice
from drynpu.tables import Profile

_RAW = (
    "op_id",
    "op_type",
    "num_workers",
    "output_queue_size",
    "output_queue_average_size",
    "output_queue_length",
    "output_queue_usage_rate",
    "sample_interval",
    "parent_id",
    "children_id",
)
_TYPE_SUFFIX = 2
"""Letters that end the type of every operator: ``Op``."""
# What the vendor writes where nothing is known.
_UNKNOWN = -1
# The first batch pays for starting the pipeline, so the averages leave it out.
_FIRST_COUNTED = 2
_Ops = Mapping[int, Mapping[str, Any]]


@frozen(eq=False)
class _Tree:
    """
    The pipeline as the files show it: the children of an operator without an output queue become its parent's.

    ``order`` is breadth first from operator 0; ``parents`` and ``children`` belong to the operators in it.
    """

    order: tuple[int, ...]
    parents: Mapping[int, int | None]
    children: Mapping[int, list[int]]


def _ops(profile: Profile) -> _Ops:
    return {row["op_id"]: row for row in profile.frame("pipeline_ops").iter_rows(named=True)}


def _tree(ops: _Ops) -> _Tree | None:
    """Return the tree; ``None`` without operator 0, or where a queue has sizes and no length."""
    if 0 not in ops or any(op["queue_sizes"] and not op["queue_length"] for op in ops.values()):
        return None
    parents: dict[int, int | None] = {0: None}
    children: dict[int, list[int]] = {}
    waiting = deque([0])
    order = []
    while waiting:
        op_id = waiting.popleft()
        order.append(op_id)
        children[op_id] = [child for child in _lifted(ops, op_id) if child not in parents]
        parents |= dict.fromkeys(children[op_id], op_id)
        waiting += children[op_id]
    return _Tree(tuple(order), parents, children)


def _lifted(ops: _Ops, op_id: int) -> list[int]:
    waiting = deque(ops[op_id]["children"] or ())
    seen = set(waiting)
    lifted = []
    while waiting:
        child = waiting.popleft()
        if child not in ops:
            continue
        if ops[child]["queue_length"] is not None or ops[child]["queue_sizes"]:
            lifted.append(child)
            continue
        further = [below for below in ops[child]["children"] or () if below not in seen]
        seen.update(further)
        waiting += further
    return lifted


def pipeline_raw_table(profile: Profile) -> pl.DataFrame:
    """Return minddata_pipeline_raw as text; empty where there is no pipeline. What is not known is an empty cell."""
    ops = _ops(profile)
    tree = _tree(ops)
    schema = dict.fromkeys(_RAW, pl.String)
    if tree is None:
        return pl.DataFrame(schema=schema)
    rows = []
    for op_id in tree.order:
        op = ops[op_id]
        sizes = op["queue_sizes"]
        average = sum(sizes) / len(sizes) if sizes else None
        cells = (
            op_id,
            op["op_type"],
            op["num_workers"],
            sizes,
            average,
            op["queue_length"],
            None if average is None else average / op["queue_length"],
            op["sample_interval"],
            tree.parents[op_id],
            tree.children[op_id] or None,
        )
        rows.append(["" if cell is None else str(cell) for cell in cells])
    return pl.DataFrame(rows, schema=schema, orient="row")


def pipeline_summary(profile: Profile) -> dict[str, list[Any]]:
    """
    Return minddata_pipeline_summary; empty unless pipeline, CPU use and times of batches were recorded.

    Lists have an entry per operator in order of its number, -1 where nothing is known. Times in ms.
    """
    ops = _ops(profile)
    tree, times = _tree(ops), profile.frame("pipeline_times")
    measured = [op for op in ops.values() if op["cpu_pct"] is not None]
    if tree is None or not measured or times.is_empty():
        return {}
    summary = _pipeline(ops, tree)
    shares = [op["cpu_pct"] for op in measured]
    summary["avg_cpu_pct"] = [round(sum(share) / len(share), 2) if share else 0 for share in shares]
    summary |= _batch_times(times)
    if len(measured) == len(ops):
        summary["avg_cpu_pct_per_worker"] = [
            round(cpu / workers if workers and cpu >= 0 else _UNKNOWN, 2)
            for cpu, workers in zip(summary["avg_cpu_pct"], summary["num_workers"], strict=True)
        ]
        summary |= advice(Pipeline.from_summary(summary))
    return summary


def _pipeline(ops: _Ops, tree: _Tree) -> dict[str, list[Any]]:
    names = {op_id: op["op_type"][:-_TYPE_SUFFIX] for op_id, op in ops.items()}
    queues = [_queue(op) for op in ops.values()]
    # An operator that gave its children away still has them in its own row.
    children = [tree.children.get(op_id, op["children"] or []) for op_id, op in ops.items()]
    parents: dict[int, int] = {}
    for op_id, below in zip(ops, children, strict=True):
        parents |= dict.fromkeys(below, op_id)
    return {
        "op_ids": list(ops),
        "op_names": list(names.values()),
        "pipeline_ops": [f"{name}(id={op_id})" for op_id, name in names.items()],
        "num_workers": [op["num_workers"] for op in ops.values()],
        "queue_average_size": [average for average, _, _ in queues],
        "queue_utilization_pct": [utilization for _, utilization, _ in queues],
        "queue_empty_freq_pct": [empty for _, _, empty in queues],
        "children_ids": children,
        "parent_id": [parents.get(op_id, _UNKNOWN) for op_id in ops],
    }


def _queue(op: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return average size, how full that is and how often the queue was empty (percent)."""
    sizes: Sequence[int] = op["queue_sizes"] or ()
    if not sizes:
        return _UNKNOWN, _UNKNOWN, _UNKNOWN
    average = round(sum(sizes) / len(sizes), 2)
    length = op["queue_length"]
    full = round(100 * average / length, 2) if length else _UNKNOWN
    return average, full, round(100 * sizes.count(0) / len(sizes), 2)


def _batch_times(times: pl.DataFrame) -> dict[str, list[Any]]:
    """
    Return the averages over all batches but the first; -1 where none was recorded.

    Without a queue to the device the time of a batch is what passed between two notes of the connector.
    """
    counted = times.filter(pl.col("batch") >= _FIRST_COUNTED)
    parts = [counted.filter((pl.col("record") == 0) & (pl.col("part") == part))["value"].to_list() for part in range(3)]
    if not bool(times["is_device_queue"][0]):
        noted = times.filter((pl.col("batch") < _FIRST_COUNTED) | (pl.col("record") == 1))
        gaps = noted.with_columns((pl.col("time_ms") - pl.col("time_ms").shift(1, fill_value=0)).alias("gap"))
        parts[2] += gaps.filter((pl.col("batch") >= _FIRST_COUNTED) & (pl.col("record") == 1))["gap"].to_list()
    names = ("per_pipeline_time", "per_push_queue_time", "per_batch_time")
    return {
        name: [round(sum(part) / len(part), 3) if part else _UNKNOWN] for name, part in zip(names, parts, strict=True)
    }


def summary_rows(summary: Mapping[str, Sequence[Any]]) -> list[list[str]]:
    """Return the rows of minddata_pipeline_summary.csv: a key and its values, which are of no equal number."""
    return [[key, *("" if value is None else str(value) for value in values)] for key, values in summary.items()]
