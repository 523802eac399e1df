"""The device waits for the host: launches, synchronising calls, data, the garbage collector."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis._phases import step_phases
from drynpu.analysis.hints._finding import Finding, per_text
from drynpu.analysis.hints._remedies import framework_of, remedy_for
from drynpu.analysis.overlaps import COMPUTING, FREE, overlap_times
from drynpu.tables import Profile, intervals

_FREE_SHARE = 0.3
"""Free share of a step from which the device counts as waiting for the host; ours."""
_INTERVAL_US = 500.0
"""Mean step interval above which MindInsight suggests to look at the data (mindinsight_dashboard.md 11)."""
_SYNC_SHARE = 0.05
"""Share of the step in synchronising calls from which they are named; ours."""
_GC_SHARE = 0.01
"""Share of the step in Python's garbage collector from which it is named; ours."""
_SYNC_APIS = (
    "aclrtSynchronizeStream",
    "aclrtSynchronizeStreamWithTimeout",
    "aclrtSynchronizeDevice",
    "aclrtSynchronizeEvent",
)


def host_findings(profile: Profile, steps: pl.DataFrame) -> Iterator[Finding]:
    """
    Yield what the device waits for on the host.

    Parameters
    ----------
    steps:
        Step trace (``step_trace``).
    """
    count, per = max(steps.height, 1), per_text(steps)
    whole_us = _step_sum(steps)
    if whole_us <= 0:
        return
    yield from _free(profile, steps, whole_us, per)
    yield from _interval(profile)
    yield from _synchronising(profile, whole_us, count, per)
    yield from _collector(profile, whole_us, count, per)


def _step_sum(steps: pl.DataFrame) -> float:
    columns = ("computing_us", "communication_not_overlapped_us", "free_us")
    return float(sum(steps[column].sum() for column in columns))


def _free(profile: Profile, steps: pl.DataFrame, whole_us: float, per: str) -> Iterator[Finding]:
    count, free_us = max(steps.height, 1), float(steps["free_us"].sum())
    if free_us < _FREE_SHARE * whole_us:
        return
    launched = profile.compact("kernels", "duration_ns")
    median = launched.filter(pl.col("duration_ns") > 0)["duration_ns"].median()
    tiny = f"; the median kernel takes {median / 1000:.1f} us" if isinstance(median, float) else ""
    yield Finding(
        name="device-waits-for-host",
        title="The device waits for the host",
        evidence=f"{free_us / whole_us:.0%} of the time is free: {launched.height / count:.0f} kernels {per}{tiny}.",
        remedy=remedy_for("device-waits-for-host", framework_of(profile)),
        cost_us=free_us / count,
        per=per,
        page="steps",
        intervals=overlap_times(profile, FREE),
    )


def _interval(profile: Profile) -> Iterator[Finding]:
    phases = step_phases(profile)
    # The first step has nothing before it.
    pauses = phases.slice(1).select("start_ns", "forward_ns").drop_nulls()
    mean = (pauses["forward_ns"] - pauses["start_ns"]).mean()
    mean = mean / 1000 if isinstance(mean, float) else None
    if isinstance(mean, float) and mean > _INTERVAL_US:
        yield Finding(
            name="step-interval",
            title="Long pauses between steps",
            evidence=f"From the end of a step to the first kernel of the next pass {mean / 1000:.2f} ms on average.",
            remedy="Look at the data preparation: more workers, prefetching, less work in the training process.",
            cost_us=mean,
            per="a step",
            page="data",
            intervals=intervals.union(pauses.filter(pl.col("forward_ns") > pl.col("start_ns")).to_numpy()),
        )


def _synchronising(profile: Profile, whole_us: float, count: int, per: str) -> Iterator[Finding]:
    calls = profile.api.filter(pl.col("name").is_in(_SYNC_APIS))
    called = intervals.union(
        calls.filter(pl.col("end_ns") > pl.col("start_ns")).select("start_ns", "end_ns").to_numpy()
    )
    # While the device computes what was launched nothing is lost.
    computing = intervals.intersect(called, overlap_times(profile, COMPUTING))
    all_us = float((calls["end_ns"] - calls["start_ns"]).sum()) / 1000
    spent_us = all_us - intervals.total(computing) / 1000
    if calls.height and spent_us > _SYNC_SHARE * whole_us:
        meanwhile = f", {intervals.total(computing) / count / 1e6:.2f} ms of it while the device computes"
        yield Finding(
            name="synchronising-calls",
            title="The host waits for the device",
            evidence=f"{calls.height / count:.0f} synchronising calls {per} take {all_us / count / 1000:.2f} ms"
            f"{meanwhile if len(computing) else ''}.",
            remedy=remedy_for("synchronising-calls", framework_of(profile)),
            cost_us=spent_us / count,
            per=per,
            page="timeline",
            intervals=intervals.subtract(called, computing),
        )


def _collector(profile: Profile, whole_us: float, count: int, per: str) -> Iterator[Finding]:
    spent_us = float((profile.gc["end_ns"] - profile.gc["start_ns"]).sum()) / 1000
    if spent_us > _GC_SHARE * whole_us:
        yield Finding(
            name="garbage-collector",
            title="Python's garbage collector takes time",
            evidence=f"{profile.gc.height} collections take {spent_us / count / 1000:.2f} ms {per}.",
            remedy="gc.freeze() after set-up, a higher gc.set_threshold(), or gc.disable() with a collection at times.",
            cost_us=spent_us / count,
            per=per,
            page="host",
            intervals=intervals.union(profile.gc.select("start_ns", "end_ns").to_numpy()),
        )
