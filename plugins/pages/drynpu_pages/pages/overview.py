"""Where the step time goes, what bounds it, what was simulated and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from drynpu.analysis import Summary
from drynpu.views.content import ANSWER, EMPTY, WARNING, Block, Chart, Column, Fact, Facts, Hint, Note, Row, Table
from drynpu.views.hints import hint_blocks
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import count_text, share_text, size_text, time_text
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.figures import donut, stacked_bars
from drynpu_pages.pages._parts import STEP_PARTS
from drynpu_pages.pages._windows import of_steps
from drynpu_pages.provenance import synthetic_label, synthetic_text

_TOP = 5
"""Types in the ring; the rest is Other."""
_CLOSE = 0.1
"""Difference of shares below which the next part may as well be what bounds a step."""
_HINTS = 3
_BOUND = {
    "computing": ("The device bounds", "it computes", "Look at the operators."),
    "communication": ("Communication bounds", "the device waits for other ranks and links", "Look at the cluster."),
    "free": (
        "The host bounds",
        "the device has nothing to do",
        "Look at the host, the data preparation and the launches.",
    ),
}
"""Part of a step -> what bounds it then, what the device does meanwhile, what to do."""


def _build(view: View) -> Sequence[Block]:
    rank = view.rank
    return [
        *_synthetic(rank),
        *_answer(rank),
        *_facts(view),
        *_costs(view),
        Row([*_step_time(rank), *_top_types(rank)]),
        *_provenance(rank),
        *_files(rank),
    ]


def _facts(view: View) -> Iterator[Facts]:
    rank = view.rank
    summary = rank.summary
    steps = rank.steps
    whole = steps.select(pl.sum_horizontal(*(column for _, column in STEP_PARTS.values())).alias("us"))["us"]
    marked, reserved = bool(rank.step_names), summary.peak_reserved_bytes
    interval = _mean_interval(summary)
    yield Facts(
        (
            Fact(
                "Step time" if marked else "Recording",
                time_text(_mean(whole)),
                _span_text(len(whole), marked) + (f"; 80 %: {interval}" if interval else ""),
                rank.modelled,
                _longest_step(rank),
            ),
            _steps(rank),
            Fact("Kernels", count_text(summary.kernel_count), _kernel_time(summary), rank.modelled),
            Fact(
                "Ranks",
                count_text(len(view.run.ranks)),
                _devices_text(summary),
            ),
            Fact("Peak memory", size_text(summary.peak_allocated_bytes), _of_capacity(rank)),
            Fact("Reserved", size_text(reserved), "memory, at most", rank.modelled and reserved is not None),
            Fact(
                "Chip",
                summary.chip,
                f"simulated, clock {summary.clock}" if rank.modelled else "not named by the profile",
            ),
        )
    )


def _longest_step(rank: Rank) -> tuple[int, int] | None:
    """Return the window of the longest step; of a recording without steps all its kernels."""
    ranges = [window for window in map(rank.step_range, rank.step_names) if window is not None]
    if not ranges and not rank.step_names:
        kernels = rank.profile.compact("kernels", "start_ns", "duration_ns")
        ends = kernels["start_ns"] + kernels["duration_ns"]
        ranges = [(int(kernels["start_ns"].min()), int(ends.max()))] if kernels.height else []  # type: ignore[arg-type]
    return max(ranges, key=lambda window: window[1] - window[0], default=None)


def _of_capacity(rank: Rank) -> str:
    """Return which share of the chip's memory is allocated at most."""
    peak, chip = rank.summary.peak_allocated_bytes, rank.chip
    if peak is None or chip is None:
        return "allocated"
    return f"allocated: {share_text(peak / chip.memory_bytes)} of {size_text(chip.memory_bytes)}"


def _costs(view: View) -> Iterator[Row]:
    """Yield what costs most, with what to do about it."""
    hints = [block for block in hint_blocks(view.run, view.rank, ()) if isinstance(block, Hint)]
    if hints:
        yield Row(hints[:_HINTS])


def _steps(rank: Rank) -> Fact:
    """Return the steps of the schedule, or the iterations of the graphs that ran without one."""
    if rank.step_names:
        return Fact("Steps", count_text(len(rank.step_names)), "of the schedule")
    summary = rank.summary
    runs = sum(graph.count for graph in summary.iterations)
    if not runs:
        return Fact("Steps", UNKNOWN, "none are marked")
    names = ", ".join(graph.graph for graph in summary.iterations)
    role = f" ({summary.role})" if summary.role else ""
    return Fact("Steps", count_text(runs), f"iterations of {names}{role}")


def _devices_text(summary: Summary) -> str:
    names = ", ".join(map(str, summary.device_ids)) or UNKNOWN
    return f"device {names}" if len(summary.device_ids) == 1 else f"devices {names}"


def _kernel_time(summary: Summary) -> str:
    """Return the time of all kernels; of modelled ones with the interval that holds it four times out of five."""
    total = f"{time_text(summary.kernel_us)} in all"
    if summary.kernel_interval_us is None:
        return total
    low, high = map(time_text, summary.kernel_interval_us)
    return f"{total}; 80 %: {low} to {high}"


def _mean_interval(summary: Summary) -> str:
    """Return what holds the mean step four times out of five: what is wrong for one step is wrong for all alike."""
    intervals = summary.step_intervals_us
    if not intervals:
        return ""
    low, high = (time_text(sum(ends) / len(ends)) for ends in zip(*intervals, strict=True))
    return f"{low} to {high}"


def _span_text(count: int, marked: bool) -> str:
    """Return what a mean over the rows of the step trace is a mean of."""
    if count < 2:
        return "" if marked else "the device's time, from first to last"
    return f"mean of {count} steps" if marked else f"mean of {count} devices"


def _mean(values: pl.Series) -> float | None:
    mean = values.mean()
    return mean if isinstance(mean, float) else None


def _step_time(rank: Rank) -> Iterator[Chart | Note]:
    steps = rank.steps
    if steps.is_empty():
        yield Note("No device time was recorded, so there are no steps to show.", EMPTY)
        return
    labels, axis = _step_labels(steps), "step" if rank.step_names else ""
    parts = {key: (name, (steps[column] / 1000).to_list()) for key, (name, column) in STEP_PARTS.items()}
    shares, windows = _shares(rank), of_steps(rank, steps["step"].to_list())
    yield Chart(
        "step-time",
        "Where the step time goes" if rank.step_names else "Where the time goes",
        lambda: stacked_bars(labels, parts, axis_title="ms", unit="ms", label_title=axis, windows=windows),
        ("Mean share of a step: " if rank.step_names else "Shares of the recording: ")
        + ", ".join(f"{name} {share_text(shares[key])}" for key, (name, _) in STEP_PARTS.items())
        + ".",
        modelled=rank.modelled,
    )


def _step_labels(steps: pl.DataFrame) -> list[str]:
    """Return the names of steps, with their device where there are several."""
    several = steps["device_id"].n_unique() > 1
    return [
        f"{row['step'] or 'all'}" + (f" (device {row['device_id']})" if several else "")
        for row in steps.iter_rows(named=True)
    ]


def _shares(rank: Rank) -> dict[str, float]:
    totals = {key: float(rank.steps[column].sum()) for key, (_, column) in STEP_PARTS.items()}
    whole = sum(totals.values()) or 1.0
    return {key: total / whole for key, total in totals.items()}


def _top_types(rank: Rank) -> Iterator[Chart | Note]:
    totals = (
        rank.operators.group_by("op_type")
        .agg(pl.col("total_us").sum())
        .sort("total_us", "op_type", descending=[True, False])
    )
    if totals.is_empty():
        yield Note("The kernels have no operator types (level0 records none), so there is no ranking.", EMPTY)
        return
    names, values = totals["op_type"].to_list(), (totals["total_us"] / 1000).to_list()
    if len(names) > _TOP:
        names, values = [*names[:_TOP], "Other"], [*values[:_TOP], sum(values[_TOP:])]
    whole = sum(values) or 1.0
    yield Chart(
        "top-types",
        "Operator types by time",
        lambda: donut(names, values, unit="ms"),
        ", ".join(f"{name} {value / whole:.1%}" for name, value in zip(names, values, strict=True)),
        modelled=rank.modelled,
    )


def _answer(rank: Rank) -> Iterator[Block]:
    """Yield what bounds the step, and how sure that is."""
    if rank.steps.is_empty():
        return
    shares = _shares(rank)
    most, second = sorted(shares, key=shares.__getitem__, reverse=True)[:2]
    span = "the step" if rank.step_names else "the recording"
    bound, meanwhile, remedy = _BOUND[most]
    parts = [f"{bound} {span}: {meanwhile} for {share_text(shares[most])} of it. {remedy}"]
    if shares[most] - shares[second] < _CLOSE:
        parts.append(f"It is close: {STEP_PARTS[second][0]} takes {share_text(shares[second])}.")
    if interval := _mean_interval(rank.summary):
        parts.append(f"Four times out of five a step takes {interval}.")
    yield Note(" ".join(parts), ANSWER)


def _synthetic(rank: Rank) -> Iterator[Block]:
    label = synthetic_label(rank)
    if label is not None:
        yield Note(synthetic_text(label), WARNING)


def _provenance(rank: Rank) -> Iterator[Block]:
    summary = rank.summary
    if rank.modelled:
        simulated = rank.profile.metadata.get("drynpu", {})
        modelled, measured = (
            ", ".join(map(str, simulated.get(key, ()))) if isinstance(simulated, dict) else ""
            for key in ("simulated", "measured")
        )
        yield Note(f"Simulated by drynpu. Modelled: {modelled or UNKNOWN}. Measured: {measured or UNKNOWN}.")
    if summary.unmapped:
        names = ", ".join(f"{name} x{count}" for name, count in list(summary.unmapped.items())[:_TOP])
        yield Note(f"{summary.unmapped_count} kernels stand for operators without a rule: {names}.", WARNING)
    if summary.missing:
        yield Note(f"Read from results without raw data. Not in them: {', '.join(summary.missing)}.")
    for note in summary.notes:
        yield Note(note, WARNING)


def _files(rank: Rank) -> Iterator[Block]:
    files = pl.DataFrame(
        {
            "file": [Path(name).as_posix() for name in rank.summary.files],
            "size": [size / 1024 for size in rank.summary.files.values()],
        },
        schema={"file": pl.String, "size": pl.Float64},
    )
    columns = (Column("file", "file", wide=True), Column("size", "size (KiB)", 1))
    yield Table("files", f"Files of {rank.path.name}", files, columns)


PAGE = Page("overview", "Overview", "Where the step time goes, what bounds it, and what was simulated.", _build)
