"""Communication that computing does not hide."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.analysis.communication import communication_time, communication_transfers
from drynpu.analysis.hints._finding import Finding, per_text
from drynpu.analysis.hints._remedies import framework_of, remedy_for
from drynpu.analysis.hints._waits import Parts, waited_for
from drynpu.analysis.overlaps import EXPOSED, overlap_times
from drynpu.tables import Profile

_EXPOSED_SHARE = 0.1
"""Share of communication in all busy time above which MindInsight names it (mindinsight_dashboard.md 11)."""
_WAIT_SHARE = 0.5
"""Share of waiting in the time of collectives from which ranks count as uneven; ours."""
_REMEDIES = {
    "transit": "Overlap it: gradient buckets, communication on a stream of its own, larger batches between"
    " exchanges; or move less: mixed precision gradients, another split of the model.",
    "wait": "Find the slow rank on the cluster page: uneven data, a slow host, or one link.",
    "idle": "Moving less wins nothing: no data is on the way in this time. Look on the timeline at what runs before the"
    " task that comes late, on this rank and on its peer: another stream or group that holds the link, memory that is"
    " made ready, the first exchange of a group.",
}
_SMALL_BYTES, _SMALL_COUNT = 1 << 20, 50
"""Transfers that are smaller do not fill a link; named from so many a step. Ours."""


def communication_findings(profile: Profile, steps: pl.DataFrame) -> Iterator[Finding]:
    """Yield what is conspicuous about the collectives; *steps* is the step trace."""
    count, per = max(steps.height, 1), per_text(steps)
    exposed = float(steps["communication_not_overlapped_us"].sum())
    computing = float(steps["computing_us"].sum())
    transfers = communication_transfers(profile)
    times = communication_time(profile, transfers)
    if exposed > _EXPOSED_SHARE * (computing + exposed):
        share = f"{exposed / (computing + exposed):.0%} of busy time, {exposed / count / 1000:.2f} ms {per}."
        parts = Parts.from_times(times)
        said = parts.said(count, per) if profile.communication_ops.height else ()
        yield Finding(
            name="exposed-communication",
            title="Communication that computing does not hide",
            evidence=" ".join([share, *said, *waited_for(profile, parts)]),
            remedy=_REMEDIES[parts.largest],
            cost_us=exposed / count,
            per=per,
            page="cluster",
            intervals=overlap_times(profile, EXPOSED),
        )
    else:
        yield from _waiting(times, count, per)
    yield from _small(transfers, count, per, framework_of(profile))


def _waiting(times: pl.DataFrame, count: int, per: str) -> Iterator[Finding]:
    elapsed, waited = int(times["elapse_ns"].sum()), int(times["wait_ns"].sum())
    if elapsed and waited > _WAIT_SHARE * elapsed:
        yield Finding(
            name="waiting-ranks",
            title="Collectives mostly wait for another rank",
            evidence=f"{waited / elapsed:.0%} of their time is waiting.",
            remedy=_REMEDIES["wait"],
            cost_us=waited / 1000 / count,
            per=per,
            page="cluster",
        )


def _small(transfers: pl.DataFrame, count: int, per: str, framework: str = "") -> Iterator[Finding]:
    moved = transfers.filter(pl.col("transport") != "LOCAL")
    small = moved.filter(pl.col("size_bytes") < _SMALL_BYTES)
    if small.height / count >= _SMALL_COUNT and small.height * 2 > moved.height:
        yield Finding(
            name="small-transfers",
            title="Many small transfers",
            evidence=f"{small.height / count:.0f} of {moved.height / count:.0f} transfers {per} move less than 1 MiB.",
            per=per,
            remedy=remedy_for("small-transfers", framework),
            page="cluster",
        )
