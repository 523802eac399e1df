"""The tasks of an operator that a topology plans anew, laid into the time that the operator has in the cluster."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis.communication import transfers_of
from drynpu.arrays import F64, I64
from drynpu.deliverables.communication.tables import task_transfers
from drynpu.device.collectives import (
    CollectivePlan,
    CollectiveRequest,
    LinkType,
    RdmaType,
    TaskName,
    TransportType,
    plan_collective,
)
from drynpu.platforms import Chip


@frozen(eq=False)
class TaskPlan:
    """
    The tasks of one operator of one rank.

    Attributes
    ----------
    transfers:
        Its transfers as rows of `COMMUNICATION_TRANSFERS`, as reading its tasks would give them.
    moves:
        Whether its main plane moves bytes to or from other ranks.
    edges:
        Ticks at which a time without transfers ends or begins, by turns, from the start to the end of the operator.
    """

    plan: CollectivePlan
    transfers: pl.DataFrame
    moves: bool
    edges: F64

    def laid(self, ticks: int, factor: float) -> tuple[I64, I64]:
        """
        Return start and length of each task in an operator of so many *ticks*.

        Transfers take *factor* of their planned time. What is left is waited for the peers. Where nothing is left,
        the time between transfers becomes shorter, and only where that is not enough transfers do as well.
        """
        plan, parts = self.plan, np.diff(self.edges)
        between, moving = float(parts[::2].sum()), float(parts[1::2].sum()) * factor
        waits, pause = bool(plan.sync.any()) and ticks >= between + moving, 1.0
        if not waits and between > 0 and ticks > moving:
            pause = (ticks - moving) / between
        elif not waits:
            pause = factor = ticks / max(plan.ticks, 1)
        grown = parts * np.where(np.arange(len(parts)) % 2, factor, pause)
        after = np.concatenate([[0.0], np.cumsum(grown)])
        start, end = (
            np.rint(np.interp(at, self.edges, after)).astype(np.int64) for at in (plan.start, plan.start + plan.length)
        )
        wait = ticks - round(after[-1]) if waits else 0
        return start + wait * plan.after, np.maximum(end - start, 1) + wait * plan.sync


def plan_tasks(request: CollectiveRequest, chip: Chip) -> TaskPlan:
    """Return the tasks of one operator of one rank, and what reading them gives."""
    plan = plan_collective(request, chip)
    tasks = _as_read(request, plan, chip)
    tasks = tasks.with_columns(task_transfers(tasks))
    moving = tasks.filter(pl.col("transfer_ns").is_not_null()).select(
        "start_ns", (pl.col("start_ns") + pl.col("transfer_ns")).alias("end_ns")
    )
    joined = _joined(sorted(moving.iter_rows()))
    edges = np.array([0.0, *(time / chip.tick_ns for span in joined for time in span), plan.ticks])
    transfers = transfers_of(tasks)
    remote = transfers.filter(pl.col("is_master") & (pl.col("transport") != "LOCAL"))
    return TaskPlan(plan, transfers, remote.height > 0, edges)


def _as_read(request: CollectiveRequest, plan: CollectivePlan, chip: Chip) -> pl.DataFrame:
    count = len(plan)

    def names(kinds: type[TaskName | LinkType | TransportType | RdmaType], values: I64) -> pl.Series:
        return pl.Series([kinds(value).name for value in values.tolist()], dtype=pl.String)

    return pl.DataFrame(
        {
            "device_id": np.zeros(count, np.int64),
            "connection_id": np.zeros(count, np.int64),
            "plane_id": plan.plane,
            "is_master": plan.plane == 0,
            "op_type": pl.Series([f"hcom_{request.kind}_"] * count, dtype=pl.String),
            "name": names(TaskName, plan.name),
            "start_ns": np.rint(plan.start * chip.tick_ns).astype(np.int64),
            "duration_ns": np.rint(plan.length * chip.tick_ns).astype(np.int64),
            "src_rank": np.full(count, request.me),
            "dst_rank": plan.peer,
            "size_bytes": plan.size_bytes,
            "link": names(LinkType, plan.link),
            "transport": names(TransportType, plan.transport),
            "rdma": names(RdmaType, plan.rdma),
        }
    )


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """
    Return spans of time, by their start, with those that touch as one.

    >>> _joined([(0, 2), (1, 3), (5, 6)])
    [(0, 3), (5, 6)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
