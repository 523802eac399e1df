"""What the time of collectives is made of, and what they waited for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis.communication import OPERATOR_KEY
from drynpu.analysis.overlaps import COMPUTING, overlap_times
from drynpu.tables import Profile, intervals

_NAMED_SHARE = 0.1
"""Share of the time of collectives from which it is said what they waited for."""


@frozen(kw_only=True)
class Parts:
    """Time of collectives, ns: transfers to other ranks, waiting for a signal of another rank, and the rest."""

    elapsed: int
    transit: int
    wait: int
    idle: int

    @classmethod
    def from_times(cls, times: pl.DataFrame) -> Parts:
        """Return the sums of `communication_time`."""
        sums = {name: int(times[f"{name}_ns"].sum()) for name in ("elapse", "transit", "wait", "idle")}
        return cls(elapsed=sums.pop("elapse"), **sums)

    @property
    def largest(self) -> str:
        """The part that is the most, ``transit`` where nothing is known."""
        return max(("transit", "wait", "idle"), key=lambda name: int(getattr(self, name)))

    def said(self, count: int, per: str) -> Iterator[str]:
        """Yield a sentence with all parts."""
        if not self.elapsed:
            yield "These files do not say how much of it is transfer and how much is waiting."
            return
        shares = ", ".join(
            f"{name} {time / count / 1e6:.2f} ms ({time / self.elapsed:.0%})"
            for name, time in (("transit", self.transit), ("wait", self.wait), ("idle", self.idle))
        )
        yield f"Collectives take {self.elapsed / count / 1e6:.2f} ms {per}: {shares}."


def waited_for(profile: Profile, parts: Parts) -> Iterator[str]:
    """Yield for which rank most of the waiting was, and where the longest pause without any task was."""
    tasks = profile.frame("communication_tasks").filter("is_master")
    if parts.wait > _NAMED_SHARE * parts.elapsed or parts.largest == "wait":
        yield from _peer(tasks, parts)
    if parts.idle > _NAMED_SHARE * parts.elapsed:
        yield from _pause(profile, tasks)


def _peer(tasks: pl.DataFrame, parts: Parts) -> Iterator[str]:
    waits = tasks.filter((pl.col("name") == "Notify_Wait") & (pl.col("dst_rank") >= 0))
    peers = waits.group_by("dst_rank").agg(pl.col("duration_ns").sum()).sort("duration_ns", "dst_rank", descending=True)
    for rank, waited in peers.head(1).iter_rows():
        if waited:
            yield f"It waits most for rank {rank} ({min(waited / (parts.wait or waited), 1):.0%} of the waiting)."


def _pause(profile: Profile, tasks: pl.DataFrame) -> Iterator[str]:
    ends = (pl.col("start_ns") + pl.col("duration_ns")).cum_max().shift().over(*OPERATOR_KEY, "plane_id")
    later = (
        tasks.sort(*OPERATOR_KEY, "plane_id", "start_ns").with_columns(ends.alias("begin_ns")).drop_nulls("begin_ns")
    )
    pauses = later.with_columns((pl.col("start_ns") - pl.col("begin_ns")).alias("pause_ns"))
    longest = pauses.filter(pl.col("pause_ns") > 0).sort("pause_ns", descending=True).head(1)
    operators = profile.communication_ops.select(*OPERATOR_KEY, pl.col("name").alias("operator"))
    for row in longest.join(operators, on=OPERATOR_KEY, how="inner").head(1).iter_rows(named=True):
        pause = np.array([[row["begin_ns"], row["start_ns"]]], np.int64)
        computed = intervals.total(intervals.intersect(pause, overlap_times(profile, COMPUTING)))
        peer = f" with rank {row['dst_rank']}" if row["dst_rank"] is not None and row["dst_rank"] >= 0 else ""
        yield (
            f"The longest pause without a task, {row['pause_ns'] / 1e6:.2f} ms in {row['operator']}, ends with"
            f" {row['name']}{peer}; the device computes for {computed / 1e6:.2f} ms of it."
        )
