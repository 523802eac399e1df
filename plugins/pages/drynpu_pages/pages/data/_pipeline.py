"""The operators of MindSpore's data pipeline and the queues between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from drynpu.products.mindspore import pipeline_summary
from drynpu.views.content import WARNING, Block, Chart, Column, Hint, Note, Table
from drynpu.views.runs import View
from drynpu.views.theme import share_text
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.data_preparation import pipeline_queues, suspect_operators
from drynpu_pages.figures import bars, lines

if TYPE_CHECKING:
    import plotly.graph_objects as go

_MOST = 8
_COLUMNS = (
    Column("title", "operator", wide=True),
    Column("workers", "threads"),
    Column("takes", "puts into", wide=True),
    Column("average_size", "average queue length", 2),
    Column("capacity", "capacity"),
    Column("usage_pct", "usage (%)", 2),
    Column("empty_pct", "empty (%)", 2),
    Column("cpu_pct", "processor (%)", 2),
    Column("suspect", "suspect"),
)


def pipeline(view: View) -> Iterator[Block]:
    """Yield queues and operators of the pipeline; nothing where it was not recorded."""
    profile = view.rank.profile
    queues = pipeline_queues(profile)
    if queues.is_empty():
        return
    suspects = suspect_operators(queues)
    rows = _rows(queues, suspects)
    used = rows.drop_nulls("usage_pct")
    if used.height:
        yield from _suspects(rows, suspects)
        yield _usage(used)
        yield from _depths(view, used)
    yield Table("pipeline", "Operators of the pipeline", rows, _COLUMNS, "the root, which feeds the training, first")
    yield from _advice(view)


def _rows(queues: pl.DataFrame, suspects: list[int]) -> pl.DataFrame:
    title = pl.format("{} ({})", "name", "op_id")
    names = queues.select(pl.col("op_id").alias("parent_id"), title.alias("takes"))
    return queues.join(names, on="parent_id", how="left", maintain_order="left").with_columns(
        title.alias("title"),
        pl.col("takes").fill_null("the training"),
        (pl.col("usage") * 100).alias("usage_pct"),
        (pl.col("empty") * 100).alias("empty_pct"),
        pl.when(pl.col("op_id").is_in(suspects)).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("suspect"),
    )


def _suspects(rows: pl.DataFrame, suspects: list[int]) -> Iterator[Note]:
    if not suspects:
        yield Note("No operator of the pipeline stands out by the usage of its queues.")
        return
    titles = ", ".join(rows.filter(pl.col("op_id").is_in(suspects))["title"])
    yield Note(
        f"Worth a look by the usage of the queues: {titles}. What goes in is filled and what comes out is not, or an "
        "operator that reads cannot keep its queue filled; more threads (num_parallel_workers) may help.",
        WARNING,
    )


def _usage(used: pl.DataFrame) -> Chart:
    labels, values = used["title"].to_list(), used["usage_pct"].to_list()
    height, title = 80 + 28 * len(labels), "average length in its capacity (%)"
    texts = (
        f"{row['title']} {share_text(row['usage_pct'] / 100)} of {row['capacity']}"
        for row in used.iter_rows(named=True)
    )
    return Chart(
        "pipeline-usage",
        "Average usage of the queues",
        lambda: _of_hundred(bars(labels, values, axis_title=title, unit="%", height_px=height)),
        f"{', '.join(texts)}.",
        "of the queue behind each operator",
        height_px=height,
    )


def _of_hundred(figure: go.Figure) -> go.Figure:
    """Return the figure with the whole capacity on its axis."""
    figure.update_xaxes(range=[0, 100])
    return figure


def _depths(view: View, used: pl.DataFrame) -> Iterator[Chart]:
    """Yield how long the queues were at each sample."""
    ops = view.rank.profile.frame("pipeline_ops").filter(pl.col("op_id").is_in(used["op_id"].head(_MOST).to_list()))
    titles = dict(used.select("op_id", "title").iter_rows())
    series = {
        titles[row["op_id"]]: (titles[row["op_id"]], row["queue_sizes"])
        for row in ops.sort("op_id").iter_rows(named=True)
        if row["queue_sizes"]
    }
    count = max((len(sizes) for _, sizes in series.values()), default=0)
    if count < 2:
        return
    interval = ops["sample_interval"].drop_nulls().first()
    step = int(interval) if isinstance(interval, int) else None
    x = [sample * (step or 1) for sample in range(count)]
    padded = {key: (name, [*sizes, *[None] * (count - len(sizes))]) for key, (name, sizes) in series.items()}
    yield Chart(
        "pipeline-depths",
        "Length of the queues",
        lambda: lines(x, padded, x_title="time (ms)" if step else "sample", y_title="entries", height_px=280),
        f"Length of {len(series)} queues at {count} samples, every {step or UNKNOWN} ms.",
        height_px=280,
    )


_MEANINGS = {
    "Generator": "the source whose rows Python makes (GeneratorDataset)",
    "Batch": "dataset.batch(), which joins rows",
    "Map": "dataset.map(), which changes rows",
    "Shuffle": "dataset.shuffle(), which mixes rows",
    "Repeat": "dataset.repeat()",
    "TFReader": "the source that reads TFRecord files",
    "MindRecord": "the source that reads MindRecord files",
    "ImageFolder": "the source that reads a folder of images",
}
"""What scripts call the operators of a data pipeline, which MindSpore names otherwise."""


def _advice(view: View) -> Iterator[Block]:
    """Yield what MindSpore's own analysis advises (minddata_pipeline_summary)."""
    summary = pipeline_summary(view.rank.profile)
    for warning, suggestion in zip(
        summary.get("bottleneck_warning", ()), summary.get("bottleneck_suggestion", ()), strict=False
    ):
        name = warning.partition("(")[0]
        meaning = f"{name} is {_MEANINGS[name]}; " if name in _MEANINGS else ""
        evidence = f"{meaning}by the rules of MindSpore's own analysis"
        yield Hint(f"Bottleneck of the pipeline: {warning}", evidence, suggestion)
    for key in ("cpu_analysis_details", "queue_analysis_details"):
        for text in summary.get(key, ()):
            yield Note(text)
