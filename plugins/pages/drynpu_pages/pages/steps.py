"""The step trace: interval, forward and backward, tail; what computes and what waits; step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.analysis import step_phases
from drynpu.views.content import EMPTY, Block, Chart, Column, Fact, Facts, Note, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import count_text, share_text, time_text
from drynpu_pages.figures import lines, stacked_bars
from drynpu_pages.pages._parts import WINDOW
from drynpu_pages.pages._windows import of_steps, with_windows

_PHASES = {
    "interval": ("Step interval", "interval_us", "waiting for data and launches before the first kernel"),
    "forward_backward": ("Forward and backward", "forward_backward_us", "from the first kernel to the end of backward"),
    "tail": ("Step tail", "tail_us", "aggregation and update of the parameters"),
}
_BUSY = {
    "computing": ("Computing", "computing_us"),
    "overlapped": ("Communication (overlapped)", "overlapped_us"),
    "communication": ("Communication (not overlapped)", "communication_not_overlapped_us"),
    "free": ("Free", "free_us"),
}
_COLUMNS = (
    Column("device_id", "device"),
    Column("step", "step"),
    Column("computing_us", "computing (us)", 3),
    Column("communication_not_overlapped_us", "communication, not overlapped (us)", 3),
    Column("overlapped_us", "overlapped (us)", 3),
    Column("communication_us", "communication (us)", 3),
    Column("free_us", "free (us)", 3),
    Column("stage_us", "stage (us)", 3),
    Column("bubble_us", "bubble (us)", 3),
    Column("preparing_us", "preparing (us)", 3),
)


def _build(view: View) -> Sequence[Block]:
    rank = view.rank
    if rank.steps.is_empty():
        return [Note("No device time was recorded, so there are no steps to show.", EMPTY)]
    steps, phases = rank.steps, _phases(rank)
    if view.step:
        steps = steps.filter(pl.col("step") == view.step)
        phases = phases.filter(pl.col("step") == view.step)
    return [*_facts(phases, rank), *_phase_blocks(phases, rank), *_busy_blocks(steps, rank)]


def _phases(rank: Rank) -> pl.DataFrame:
    """Return the phases of the steps with their lengths in us; without backward, the second lasts to the end."""
    backward = pl.coalesce("backward_ns", "end_ns")
    return step_phases(rank.profile).with_columns(
        ((pl.col("forward_ns") - pl.col("start_ns")) / 1000).alias("interval_us"),
        ((backward - pl.col("forward_ns")) / 1000).alias("forward_backward_us"),
        ((pl.col("end_ns") - backward) / 1000).alias("tail_us"),
        ((pl.col("end_ns") - pl.col("start_ns")) / 1000).alias("total_us"),
    )


def _facts(phases: pl.DataFrame, rank: Rank) -> Iterator[Block]:
    if phases.is_empty():
        yield Note("Nothing in this profile marks where forward propagation begins and backward ends.", EMPTY)
        return
    total = float(phases["total_us"].sum()) or 1.0
    facts = [
        Fact(
            "Total time", time_text(total), "of the steps shown, with what is before their first kernel", rank.modelled
        ),
        Fact("Steps", count_text(phases["step"].n_unique())),
    ]
    facts += [
        Fact(name, share_text(float(phases[column].sum()) / total), detail, rank.modelled)
        for name, column, detail in _PHASES.values()
    ]
    yield Facts(facts)


def _phase_blocks(phases: pl.DataFrame, rank: Rank) -> Iterator[Block]:
    if phases.is_empty():
        return
    means = {key: float(phases[column].sum()) / phases.height / 1000 for key, (_, column, _) in _PHASES.items()}
    parts = {key: (name, [means[key]]) for key, (name, _, _) in _PHASES.items()}
    text = ", ".join(f"{_PHASES[key][0]} {mean:.3f} ms" for key, mean in means.items())
    average = Chart(
        "average-step",
        "Average step",
        lambda: stacked_bars([""], parts, axis_title="ms", unit="ms", horizontal=True, height_px=150),
        f"Average step: {text}.",
        detail="interval, forward and backward, tail, one after the other",
        modelled=rank.modelled,
        height_px=150,
    )
    yield average
    if phases.height > 1:
        names, windows = phases["step"].to_list(), of_steps(rank, phases["step"].to_list())
        series = {key: (name, (phases[column] / 1000).to_list()) for key, (name, column, _) in _PHASES.items()}
        yield Chart(
            "phases",
            "Phases over the steps",
            lambda: lines(names, series, x_title="step", y_title="ms", category=True, markers=True, windows=windows),
            f"Phases of {len(names)} steps. Means: {text}.",
            modelled=rank.modelled,
        )


def _busy_blocks(steps: pl.DataFrame, rank: Rank) -> Iterator[Block]:
    labels = [row["step"] or "all" for row in steps.iter_rows(named=True)]
    if steps["device_id"].n_unique() > 1:
        labels = [f"{row['step'] or 'all'} (device {row['device_id']})" for row in steps.iter_rows(named=True)]
    # Computing holds what overlaps; the two are shown apart, so that the bar is as long as the step.
    values = {key: (steps[column] / 1000).to_list() for key, (_, column) in _BUSY.items()}
    values["computing"] = ((steps["computing_us"] - steps["overlapped_us"]) / 1000).to_list()
    parts = {key: (name, values[key]) for key, (name, _) in _BUSY.items()}
    windows = of_steps(rank, steps["step"].to_list())
    parts["computing"] = ("Computing alone", values["computing"])
    parts["overlapped"] = ("Computing and communication", values["overlapped"])
    busy = Chart(
        "busy",
        "Busy and free time of the device",
        lambda: stacked_bars(labels, parts, axis_title="ms", unit="ms", label_title="step", windows=windows),
        f"Busy and free time of {len(labels)} steps; the numbers stand in the table below.",
        modelled=rank.modelled,
    )
    yield busy
    timed = with_windows(steps, windows)
    detail = "the columns of step_trace_time.csv"
    yield Table("steps", "Step trace", timed, _COLUMNS, detail, modelled=rank.modelled, window=WINDOW)


PAGE = Page("steps", "Step trace", "How long each step takes, and what it waits for.", _build, with_step=True)
