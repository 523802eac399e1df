"""A run as it would have been: its steps before and after, and what bounds them then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu import at_stage
from drynpu.analysis import HOST_ERROR, total_interval_us
from drynpu.arrays import I64
from drynpu.kernels import KernelSpec
from drynpu.platforms import Chip
from drynpu.tables import Profile
from drynpu_pages.critical import (
    GROUPS,
    KIND_NAMES,
    UNKNOWN,
    Host,
    Queue,
    Window,
    Work,
    bounds,
    graph_of,
    host_of,
    path_parts,
    windows_of,
    work_of,
)
from drynpu_pages.whatif._by_type import type_times
from drynpu_pages.whatif._causes import causes_of
from drynpu_pages.whatif._change import Change, changed_chip
from drynpu_pages.whatif._cut import Cut, cut_steps, host_between
from drynpu_pages.whatif._replay import Again, Recording, replay
from drynpu_pages.whatif._times import Coverage, Described, changed_ns, coverage, described

AGAIN = pl.Schema(
    {
        "step": pl.String,  # "" without steps
        "before_us": pl.Float64,
        "after_us": pl.Float64,
        "low_us": pl.Float64,  # four such steps of five last from low_us to high_us; null where nobody knows
        "high_us": pl.Float64,
        "start_ns": pl.Int64,  # of the step as it was recorded
        "end_ns": pl.Int64,
    }
)
"""One row for each step, in order of time."""

GROUP_TIMES = pl.Schema({"what": pl.String, "before_us": pl.Float64, "after_us": pl.Float64})
"""Time on the critical path by what bounds a step (keys of `GROUPS`), means of a step; the most after first."""

_HOST_GROUPS = ("host", "between")


@frozen(eq=False)
class Recorded:
    """A run as its files have it, ready to be simulated again; made once, used for each change."""

    recording: Recording = field(repr=False)
    known: Described = field(repr=False)
    windows: Sequence[Window]
    chip: Chip
    coverage: Coverage
    was: pl.DataFrame = field(repr=False)
    """What bounds the recorded steps."""
    cut: Cut = field(repr=False)

    @classmethod
    def of_profile(cls, profile: Profile, chip: Chip, step: str = "") -> Recorded | None:
        """
        Return the run of a profile of a *chip*, as far as it is simulated: a step, or the last ones (`cut_steps`).

        ``None`` where no work of a device was recorded.
        """
        at_stage("Reading what waited for what")
        every = work_of(profile)
        windows = windows_of(profile, every)
        if not len(every.start) or not windows:
            return None
        cut = cut_steps(every, windows, step)
        work, windows = cut.work, cut.windows
        if not len(work.start):
            return None
        host = host_between(host_of(profile, work), windows[0].begin, windows[-1].end)
        graph = graph_of(work, host, np.zeros(0, np.int64))
        recording = Recording(work, host, causes_of(work, host, graph), windows[0].begin)
        known = described(profile, work)
        return cls(recording, known, windows, chip, coverage(work, known, chip), _bounds(work, host, windows), cut)


@frozen(eq=False)
class Outcome:
    """
    What became of a run: tables `AGAIN`, `GROUP_TIMES` and `TYPE_TIMES`.

    ``mean_us`` and ``was_us`` are means of a step, after and before.
    """

    steps: pl.DataFrame
    groups: pl.DataFrame
    types: pl.DataFrame

    @property
    def was_us(self) -> float:
        """Mean of the recorded steps."""
        return float(self.steps["before_us"].mean() or 0.0)  # type: ignore[arg-type]

    @property
    def mean_us(self) -> float:
        """Mean of the steps after the change."""
        return float(self.steps["after_us"].mean() or 0.0)  # type: ignore[arg-type]

    @property
    def range_us(self) -> tuple[float, float] | None:
        """Mean of the ends between which four of five steps last; ``None`` where nobody knows."""
        low, high = (self.steps[name].mean() for name in ("low_us", "high_us"))
        return None if low is None or high is None else (float(low), float(high))  # type: ignore[arg-type]


def simulate_again(recorded: Recorded, change: Change) -> Outcome:
    """
    Return the outcome of a run with something changed.

    Without a change every event is when it was recorded.
    """
    at_stage("Simulating again")
    work, windows = recorded.recording.work, recorded.windows
    chip = changed_chip(recorded.chip, change)
    length = changed_ns(work, recorded.known, recorded.chip, chip)
    again = replay(recorded.recording, length, no_host_gaps=change.no_host_gaps)
    after = _windows_again(recorded, again, no_host_gaps=change.no_host_gaps)
    now = _bounds(*_moved(work, again), after)
    groups = _groups(recorded.was, now, len(windows))
    rows = [
        (old.step, (old.end - old.begin) / 1000, (new.end - new.begin) / 1000, None, None, old.begin, old.end)
        for old, new in zip(windows, after, strict=True)
    ]
    steps = pl.DataFrame(rows, schema=AGAIN, orient="row")
    types = type_times(work, recorded.known, recorded.chip, length)
    return Outcome(_with_range(steps, now, recorded, again, chip), groups, types)


def _windows_again(recorded: Recorded, again: Again, *, no_host_gaps: bool) -> list[Window]:
    """Return the steps after a change: each ends with its last work, or with its host where that ends later."""
    work, host = recorded.recording.work, recorded.recording.host
    reached = np.maximum.accumulate(again.end)
    begin, result = recorded.windows[0].begin, []
    for window in recorded.windows:
        place = int(np.searchsorted(work.end, window.end, side="right")) - 1
        done, ended = (int(work.end[place]), int(reached[place])) if place >= 0 else (UNKNOWN, UNKNOWN)
        host_end = UNKNOWN
        if window.host_end > UNKNOWN:
            last = int(np.searchsorted(host.waits[:, 1], window.host_end, side="right")) - 1
            moved = int(again.back[last] - host.waits[last, 1]) if last >= 0 else 0
            host_end = window.host_end + moved
            if no_host_gaps:
                host_end = int(again.back[last]) if last >= 0 else begin
        late = window.end - max(done, window.host_end)
        end = max(ended, host_end, begin) + late
        result.append(Window(window.step, begin, end, host_end))
        begin = end
    return result


def _moved(work: Work, again: Again) -> tuple[Work, Host]:
    """Return work and host with their times after a change."""
    rows = work.rows.with_columns(
        pl.Series("start_ns", again.start), pl.Series("end_ns", again.end), pl.Series("was", np.arange(len(again.end)))
    )
    rows = rows.sort("end_ns", "start_ns", "was")
    order = rows["was"].to_numpy()
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    items = place[work.lane_items]
    by_lane = np.lexsort((items, work.lanes))
    moved = Work(
        rows.drop("was").with_columns(pl.Series("item", np.arange(len(order)))), items[by_lane], work.lanes[by_lane]
    )
    host, queue = again.host, again.host.queue
    by_thread = np.lexsort((queue.start, queue.tid))
    entry = np.full(len(queue.start) + 1, -1, np.int64)
    entry[by_thread] = np.arange(len(by_thread))
    by_end = np.lexsort((host.waits[:, 0], host.waits[:, 1]))
    return moved, Host(
        host.submitted[order],
        entry[host.entry][order],
        Queue(queue.start[by_thread], queue.end[by_thread], queue.tid[by_thread], queue.put[by_thread]),
        host.waits[by_end],
        host.is_for_all[by_end],
    )


def _bounds(work: Work, host: Host, windows: Sequence[Window]) -> pl.DataFrame:
    """Return the parts of the paths by what bounds the steps; waits for other ranks are part of collectives."""
    named = {int(kind): name for kind, name in KIND_NAMES.items()}
    parts = path_parts(work, host, windows)
    return bounds(parts.with_columns(pl.col("code").replace_strict(named, return_dtype=pl.String).alias("kind")))


def _groups(was: pl.DataFrame, now: pl.DataFrame, steps: int) -> pl.DataFrame:
    before, after = (dict(table.select("what", "us").iter_rows()) for table in (was, now))
    rows = [
        (what, before.get(what, 0.0) / steps, after.get(what, 0.0) / steps)
        for what in GROUPS
        if what in before or what in after
    ]
    return pl.DataFrame(rows, schema=GROUP_TIMES, orient="row").sort("after_us", "what", descending=[True, False])


def _with_range(steps: pl.DataFrame, now: pl.DataFrame, recorded: Recorded, again: Again, chip: Chip) -> pl.DataFrame:
    """
    Return *steps* with the ends between which four of five last.

    What the path spends on kernels is off as the total of all kernels is, what it spends on the host by `HOST_ERROR`,
    independently of each other. For communication no error is known; it stays.
    """
    interval, total = _kernel_interval(recorded, again.end - again.start, chip)
    if interval is None or not total:
        return steps
    shares = dict(now.select("what", "share").iter_rows())
    host = sum(shares.get(group, 0.0) for group in _HOST_GROUPS) * HOST_ERROR
    kernels = shares.get("kernels", 0.0)
    low, high = (float(np.hypot(kernels * abs(end / total - 1), host)) for end in interval)
    after = pl.col("after_us")
    return steps.with_columns((after * (1 - low)).alias("low_us"), (after * (1 + high)).alias("high_us"))


def _kernel_interval(recorded: Recorded, length: I64, chip: Chip) -> tuple[tuple[float, float] | None, float]:
    """Return the interval of the total time of the kernels that are known, and that time, us."""
    spec = recorded.known.spec
    there = spec >= 0
    sums = np.bincount(spec[there], weights=length[there] / 1000, minlength=len(recorded.known.specs))
    by_type: list[tuple[str, float]] = list(zip(map(_op_type, recorded.known.specs), sums.tolist(), strict=True))
    return total_interval_us(by_type, chip.name), float(sums.sum())


def _op_type(spec: KernelSpec) -> str:
    return spec.op_type
