"""hccl_raw: what collectives cost in each step, and what went over which link (mindinsight_dashboard.md 10)."""

from __future__ import annotations

from collections.abc import Mapping

import orjson
import polars as pl

from drynpu.analysis import communication_steps, communication_time, communication_transfers
from drynpu_mindinsight._device import AVERAGE, NS_PER_MS, Device, csv_bytes

_HEADER = ("step_num", "communication_cost", "wait_cost", "link_info", "communication_operator_cost")
_NS_PER_S = 1e9
_Links = Mapping[str, Mapping[str, list[float]]]


def communication_files(device: Device) -> Mapping[str, bytes]:
    """Return cost and wait of each step in ms, its links and operators; nothing where the tasks are not known."""
    transfers = communication_transfers(device.profile)
    times = communication_time(device.profile, transfers)
    if times.is_empty():
        return {}
    steps, step = communication_steps(device.profile, times)
    times = device.rows(times.with_columns(step.alias("step")))
    moved = device.rows(transfers).join(
        times.select("connection_id", "step", "name").unique("connection_id"), on="connection_id", how="inner"
    )
    # MindInsight finds a step by its number as text, and counts steps from 1 as in the step trace.
    rows = [
        (number, *_row(times.filter(pl.col("step") == each), moved.filter(pl.col("step") == each), 1))
        for number, each in enumerate(steps, 1)
    ]
    within = pl.col("step").is_not_null() if steps else pl.lit(True)
    average = (AVERAGE, *_row(times.filter(within), moved.filter(within), max(len(steps), 1)))
    return {f"hccl_raw_{device.rank}.csv": csv_bytes(_HEADER, [*rows, average])}


def _row(times: pl.DataFrame, moved: pl.DataFrame, count: int) -> tuple[float, float, str, str]:
    """Return cost, wait, links and operators; means of *count* steps."""
    operators = {
        str(name): [AVERAGE, *_costs(rows, count), _links(moved.filter(pl.col("name") == name), count)]
        for (name,), rows in times.group_by("name", maintain_order=True)
    }
    links = orjson.dumps(_links(moved, count)).decode()
    return (*_costs(times, count), links, orjson.dumps(operators).decode())


def _costs(times: pl.DataFrame, count: int) -> tuple[float, float]:
    wait = float(times["wait_ns"].sum()) / NS_PER_MS / count
    return float(times["elapse_ns"].sum()) / NS_PER_MS / count - wait, wait


def _links(moved: pl.DataFrame, count: int) -> _Links:
    """Return time in ms, size in KB and bandwidth in KB/s by pair of ranks and kind of link."""
    links: dict[str, dict[str, list[float]]] = {}
    totals = moved.group_by("src_rank", "dst_rank", "transport").agg(pl.col("time_ns", "size_bytes").sum())
    for row in totals.sort("src_rank", "dst_rank", "transport").iter_rows(named=True):
        size = row["size_bytes"] / 1024
        rate = size / (row["time_ns"] / _NS_PER_S) if row["time_ns"] else 0.0
        entry = [row["time_ns"] / NS_PER_MS / count, size / count, rate]
        links.setdefault(f"{row['src_rank']}-{row['dst_rank']}", {})[row["transport"]] = entry
    return links
