"""The queues between data preparation and the device."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.views.content import WARNING, Block, Chart, Column, Fact, Facts, Note, Row, Table
from drynpu.views.runs import View
from drynpu.views.theme import count_text, share_text, time_text
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.data_preparation import DEVICE_QUEUE, HOST_QUEUE, queue_records, queue_status
from drynpu_pages.figures import lines, stacked_bars, thin

_TITLES = {HOST_QUEUE: "Queue on the host", DEVICE_QUEUE: "Queue on the device"}
_ADVICE = {
    "data processing": "the queue on the host is empty too often: speed up data processing",
    "host queue": "neither queue runs dry; look at the queue on the host",
    "data transmission": "the queue on the host is filled and that on the device runs dry: data transmission is slow",
}
_PARTS = {
    2: ("interval", "whole batch"),
    0: ("data wait", "obtaining from the pipeline"),
    1: ("operator", "pushing to the device"),
}
"""Parts of a time record of pipeline_times with their colour and name (mindinsight_dashboard.md 6.1)."""
_COLUMNS = (
    Column("title", "queue", wide=True),
    Column("batch", "batch"),
    Column("size", "batches waiting"),
    Column("capacity", "capacity"),
    Column("wait_us", "wait (us)", 3),
)


def queues(view: View) -> Iterator[Block]:
    """Yield length and waits of each queue; nothing where none was recorded."""
    records = queue_records(view.rank.profile)
    if records.height:
        yield _facts(records, view)
        yield from _status(records)
        yield from _ratios(records, view)
        for name, title in _TITLES.items():
            part = records.filter(pl.col("queue") == name)
            charts = [*_lengths(part, name, title, view), *_waits(part, name, title, view)]
            if charts:
                yield Row(charts)
    yield from _times(view)
    if records.height:
        rows = records.with_columns(
            pl.col("queue").replace_strict(_TITLES).alias("title"), (pl.col("wait_ns") / 1000).alias("wait_us")
        )
        yield Table("queue-records", "Batches", rows, _COLUMNS)


def _facts(records: pl.DataFrame, view: View) -> Facts:
    facts = []
    for name, title in _TITLES.items():
        part = records.filter(pl.col("queue") == name)
        if part.is_empty():
            continue
        sizes = part["size"].drop_nulls()
        empty, full = int((sizes == 0).sum()), int((part["size"] >= part["capacity"]).sum())
        modelled = view.modelled and name == DEVICE_QUEUE
        text = f"{count_text(empty)} of {count_text(sizes.len())}" if sizes.len() else UNKNOWN
        facts.append(Fact(f"{title}: empty", text, f"batches; full {count_text(full)} times", modelled))
        waits = part["wait_ns"].drop_nulls()
        mean = waits.mean()
        wait = time_text(float(mean) / 1000) if isinstance(mean, (int, float)) else UNKNOWN
        facts.append(Fact(f"{title}: wait", wait, f"mean of {waits.len()} batches", modelled))
    return Facts(facts)


def _status(records: pl.DataFrame) -> Iterator[Note]:
    """Yield what the vendor's rules say of the queues, and of the device's queue alone."""
    sizes = records.filter(pl.col("queue") == DEVICE_QUEUE)["size"].drop_nulls()
    if sizes.len() and not (sizes == 0).any():
        yield Note("Data was waiting on the device for every batch: its preparation is not what holds the training up.")
        return
    suspects = [name for name, holds in queue_status(records).items() if holds]
    for name in suspects:
        yield Note(f"Suspect is {name}: {_ADVICE[name]}.", WARNING)
    if sizes.len() and not suspects:
        empty = int((sizes == 0).sum())
        yield Note(
            f"The device found no data waiting for {empty} of {sizes.len()} batches; it then waits for the host.",
            WARNING if empty > 1 else "note",
        )


def _ratios(records: pl.DataFrame, view: View) -> Iterator[Block]:
    known = records.drop_nulls("size")
    if known.is_empty():
        return
    names = [name for name in _TITLES if (known["queue"] == name).any()]
    counts = [known.filter(pl.col("queue") == name)["size"] for name in names]
    empty = [float((sizes == 0).sum()) / sizes.len() * 100 for sizes in counts]
    parts = {
        "queue filled": ("Not empty", [100 - share for share in empty]),
        "queue empty": ("Empty", empty),
    }
    labels = [_TITLES[name] for name in names]
    height = 90 + 36 * len(names)
    texts = (f"{label}: {share_text(share / 100)} empty" for label, share in zip(labels, empty, strict=True))
    title = "share of the batches (%)"
    yield Chart(
        "queue-ratios",
        "Empty and filled",
        lambda: stacked_bars(labels, parts, axis_title=title, unit="%", horizontal=True, height_px=height),
        f"{', '.join(texts)}.",
        "how often nothing was waiting when a batch was taken",
        view.modelled and DEVICE_QUEUE in names,
        height,
    )


def _lengths(part: pl.DataFrame, name: str, title: str, view: View) -> Iterator[Chart]:
    known = part.drop_nulls("size")
    if known.is_empty():
        return
    rows = thin(known.select("batch", "size", "capacity"), ["size"])
    batches = rows["batch"].to_list()
    series: dict[str, tuple[str, list[float | None]]] = {"queue filled": ("batches waiting", rows["size"].to_list())}
    if rows["capacity"].drop_nulls().len():
        series["reserved"] = ("capacity", rows["capacity"].to_list())
    mean = float(known["size"].mean())  # type: ignore[arg-type]
    yield Chart(
        f"{name}-queue-length",
        f"{title}: length",
        lambda: lines(batches, series, x_title="batch", y_title="batches waiting", height_px=260),
        f"On average {mean:.2f} batches were waiting.",
        modelled=view.modelled and name == DEVICE_QUEUE,
        height_px=260,
    )


def _waits(part: pl.DataFrame, name: str, title: str, view: View) -> Iterator[Chart]:
    known = part.drop_nulls("wait_ns")
    if known.is_empty():
        return
    rows = thin(known.select("batch", "wait_ns"), ["wait_ns"])
    batches, values = rows["batch"].to_list(), (rows["wait_ns"] / 1e6).to_list()
    mean = float(known["wait_ns"].mean()) / 1000  # type: ignore[arg-type]
    yield Chart(
        f"{name}-queue-wait",
        f"{title}: wait",
        lambda: lines(batches, {"data wait": ("wait", values)}, x_title="batch", y_title="wait (ms)", height_px=260),
        f"The mean wait is {time_text(mean)}.",
        modelled=view.modelled and name == DEVICE_QUEUE,
        height_px=260,
    )


def _times(view: View) -> Iterator[Chart]:
    """Yield the times that MindSpore notes for each batch."""
    times = view.rank.profile.frame("pipeline_times").filter(pl.col("record") == 0)
    if times.is_empty():
        return
    wide = times.pivot("part", index="batch", values="value", aggregate_function="first").sort("batch")
    batches = wide["batch"].to_list()
    series = {
        key: (name, wide[str(part)].to_list()) for part, (key, name) in _PARTS.items() if str(part) in wide.columns
    }
    means = (f"{name} {_mean(values)} ms" for name, values in series.values())
    yield Chart(
        "batch-times",
        "Times of a batch",
        lambda: lines(batches, series, x_title="batch", y_title="time (ms)", height_px=280),
        f"Means: {', '.join(means)}.",
        "whole milliseconds, as MindSpore notes them",
        height_px=280,
    )


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{sum(known) / len(known):.2f}" if known else UNKNOWN
