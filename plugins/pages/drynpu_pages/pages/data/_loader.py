"""How long a script of PyTorch waits for its DataLoader."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.views.content import WARNING, Block, Chart, Column, Fact, Facts, Note, Table
from drynpu.views.runs import View
from drynpu.views.theme import count_text, share_text, time_text
from drynpu_pages.data_preparation import loader_waits
from drynpu_pages.figures import stacked_bars

_MUCH = 0.1
"""Share of the step from which waiting for data is worth a warning; our own judgement."""
_COLUMNS = (
    Column("step", "step"),
    Column("calls", "batches"),
    Column("wait_us", "waiting (us)", 3),
    Column("step_us", "step on the host (us)", 3),
    Column("share_pct", "share (%)", 2),
)


def loader(view: View) -> Iterator[Block]:
    """Yield the waits of each step; nothing where there were none."""
    waits = loader_waits(view.rank.profile)
    if waits.is_empty():
        return
    rows = waits.with_columns(
        pl.col("step").replace("", "all"),
        (pl.col("wait_ns") / 1000).alias("wait_us"),
        (pl.col("step_ns") / 1000).alias("step_us"),
        (pl.col("wait_ns") / pl.col("step_ns") * 100).alias("share_pct"),
    )
    wait_us, step_us = float(rows["wait_us"].sum()), float(rows["step_us"].sum()) or 1.0
    share = wait_us / step_us
    yield Facts(
        (
            Fact("Waiting for data", share_text(share), "of the steps on the host"),
            Fact("Per step", time_text(wait_us / rows.height), f"mean of {rows.height} steps"),
            Fact("Longest", time_text(float(rows["wait_us"].max())), "in one step"),  # type: ignore[arg-type]
            Fact("Batches", count_text(int(rows["calls"].sum())), "taken from a DataLoader"),
        ),
        "DataLoader of PyTorch",
    )
    yield _judgement(share)
    labels = rows["step"].to_list()
    parts = {
        "data wait": ("Waiting for data", (rows["wait_us"] / 1000).to_list()),
        "free": ("Rest of the step", ((rows["step_us"] - rows["wait_us"]).clip(lower_bound=0.0) / 1000).to_list()),
    }
    yield Chart(
        "loader-waits",
        "Waiting for data in each step",
        lambda: stacked_bars(labels, parts, axis_title="ms", unit="ms", label_title="step"),
        f"{share_text(share)} of {rows.height} steps is waiting for data.",
        "of the script, in enumerate(DataLoader), as measured on this host",
    )
    yield Table("loader", "Waits by step", rows, _COLUMNS)


def _judgement(share: float) -> Note:
    if share < _MUCH:
        return Note("The DataLoader keeps up: the script hardly waits for its data.")
    return Note(
        f"The script waits for its data in {share_text(share)} of the step. More workers (num_workers), prefetching "
        "(prefetch_factor) and pinned memory (pin_memory) let batches be prepared while the device computes.",
        WARNING,
    )
