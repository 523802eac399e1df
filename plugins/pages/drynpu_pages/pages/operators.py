"""Operators on the device, the AI CPU and the host, by type and one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from drynpu.analysis import operator_details
from drynpu.views.content import EMPTY, Block, Chart, Column, Control, Fact, Facts, Note, Table
from drynpu.views.page import Page
from drynpu.views.runs import Rank, View
from drynpu.views.theme import count_text, time_text
from drynpu_pages.figures import bars, donut
from drynpu_pages.pages._parts import WINDOW, end_time
from drynpu_pages.pages._windows import longest, of_operators

_AI_CPU = "AI_CPU"
_SHOWN = 19
"""Types in the chart; the rest is Other, which makes twenty, as on the vendor's page (mindinsight_dashboard.md 5)."""
_WHERE = (("aicore", "AI Core"), ("aicpu", "AI CPU"), ("host", "Host"), ("communication", "Communication"))
_TYPE_COLUMNS = (
    Column("op_type", "type", wide=True),
    Column("core_type", "core"),
    Column("count", "count"),
    Column("total_us", "total (us)", 3),
    Column("avg_us", "average (us)", 3),
    Column("min_us", "shortest (us)", 3),
    Column("max_us", "longest (us)", 3),
    Column("ratio_pct", "share (%)", 2),
)
_KERNEL_COLUMNS = (
    Column("name", "name", wide=True),
    Column("op_type", "type"),
    Column("task_type", "core"),
    Column("start_us", "start (us)", 3),
    Column("duration_us", "duration (us)", 3),
    Column("block_num", "blocks"),
    Column("stream_id", "stream"),
    Column("input_shapes", "input shapes", wide=True),
    Column("input_dtypes", "input types"),
    Column("input_formats", "input formats"),
    Column("output_shapes", "output shapes", wide=True),
)
_HOST_COLUMNS = (
    Column("name", "name", wide=True),
    Column("count", "count"),
    Column("host_self_us", "host self (us)", 3),
    Column("host_total_us", "host total (us)", 3),
    Column("device_self_us", "device self (us)", 3),
    Column("device_total_us", "device total (us)", 3),
)
_COLLECTIVE_COLUMNS = (
    Column("name", "name", wide=True),
    Column("op_type", "type"),
    Column("group", "group"),
    Column("start_us", "start (us)", 3),
    Column("duration_us", "duration (us)", 3),
    Column("count", "elements"),
    Column("dtype", "data type"),
    Column("algorithm", "algorithm"),
)


_TYPE = "type"
"""The choice of a type, whose kernels are shown alone."""


def _controls(rank: Rank) -> Sequence[Control]:
    types = rank.kernels("", "op_type")["op_type"].cast(pl.String).unique().sort()
    return (
        Control("where", "Where", _WHERE),
        Control("chart", "Chart", (("ring", "Ring"), ("bars", "Bars"))),
        Control(_TYPE, "Type", (("", "All"), *((name, name) for name in types if name))),
    )


def _build(view: View) -> Sequence[Block]:
    where = view.choice("where", _WHERE[0][0])
    if where == "host":
        return list(_host(view))
    if where == "communication":
        return list(_collectives(view))
    return list(_kernels(view, on_aicpu=where == "aicpu"))


def _kernels(view: View, *, on_aicpu: bool) -> Iterator[Block]:
    names = ("name", "op_type", "task_type", "start_ns", "duration_ns", "block_num", "stream_id", "input_shapes",
             "input_dtypes", "input_formats", "output_shapes")  # fmt: skip
    every = view.rank.kernels(view.step, *names)
    kernels = every.filter((pl.col("task_type").cast(pl.String) == _AI_CPU) == on_aicpu)
    where = "on the AI CPU" if on_aicpu else "on the AI cores"
    if kernels.is_empty():
        yield Note(f"No kernel ran {where} in what is selected.", EMPTY)
        return
    types = _by_type(kernels)
    yield Facts(
        (
            Fact("Kernels", count_text(kernels.height), f"{where}, of {count_text(every.height)} in what is selected"),
            Fact("Types", count_text(types.height)),
            Fact("Total time", time_text(float(types["total_us"].sum())), f"of the kernels {where}", view.modelled),
        )
    )
    yield _type_chart(types["op_type"].to_list(), (types["total_us"] / 1000).to_list(), view, view.modelled, types)
    detail = "the timeline shows the longest kernel"
    yield Table("types", "By type", types, _TYPE_COLUMNS, detail, modelled=view.modelled, window=WINDOW)
    first = kernels["start_ns"].min()
    timed = kernels.with_columns(
        ((pl.col("start_ns") - first) / 1000).alias("start_us"),
        (pl.col("duration_ns") / 1000).alias("duration_us"),
        end_time(),
    )
    chosen = view.choice(_TYPE, "")
    if chosen:
        timed = timed.filter(pl.col("op_type").cast(pl.String) == chosen)
    title, detail = f"Kernels of type {chosen}" if chosen else "All kernels", "start counts from the first kernel"
    said = f"{detail} of what is selected"
    yield Table("kernels", title, timed, _KERNEL_COLUMNS, said, modelled=view.modelled, window=WINDOW)


def _by_type(kernels: pl.DataFrame) -> pl.DataFrame:
    """Return totals by type and core, the longest first; with the columns of op_statistic."""
    time_us = pl.col("duration_ns") / 1000
    totals = kernels.group_by("op_type", pl.col("task_type").alias("core_type")).agg(
        pl.len().alias("count"),
        time_us.sum().alias("total_us"),
        time_us.mean().alias("avg_us"),
        time_us.min().alias("min_us"),
        time_us.max().alias("max_us"),
        *(each.get(pl.col("duration_ns").arg_max()) for each in (pl.col("start_ns"), end_time())),
    )
    share = (pl.col("total_us") / pl.col("total_us").sum() * 100).alias("ratio_pct")
    texts = pl.col("op_type", "core_type").cast(pl.String)
    named = totals.with_columns(texts, share).with_columns(
        pl.when(pl.col("op_type") == "").then(pl.lit("N/A")).otherwise("op_type").alias("op_type")
    )
    return named.sort("total_us", "op_type", descending=[True, False])


def _type_chart(
    names: Sequence[str], values_ms: Sequence[float], view: View, modelled: bool, rows: pl.DataFrame
) -> Chart:
    """Return the chart of types; *rows* have the columns of `WINDOW` for each."""
    labels, values = list(names), list(values_ms)
    windows = [None if None in each else each for each in rows.select(WINDOW).rows()]
    if len(labels) > _SHOWN + 1:
        labels, values = [*labels[:_SHOWN], "Other"], [*values[:_SHOWN], sum(values[_SHOWN:])]
        windows = [*windows[:_SHOWN], None]
    whole = sum(values) or 1.0
    shares = ", ".join(f"{name} {value / whole:.1%}" for name, value in list(zip(labels, values, strict=True))[:5])
    if view.choice("chart", "ring") == "bars":
        height = 60 + 24 * len(labels)
        return Chart(
            "types-chart",
            "Time by type",
            lambda: bars(labels, values, axis_title="ms", unit="ms", height_px=height, windows=windows),
            f"Longest types: {shares}.",
            modelled=modelled,
            height_px=height,
        )
    return Chart(
        "types-chart",
        "Time by type",
        lambda: donut(labels, values, unit="ms", height_px=450, windows=windows),
        f"Longest types: {shares}.",
        modelled=modelled,
        height_px=450,
    )


def _host(view: View) -> Iterator[Block]:
    details = operator_details(view.rank.profile)
    if details.is_empty():
        yield Note("The profile holds no operators of a framework: they are recorded with the activity CPU.", EMPTY)
        return
    times = [column.name for column in _HOST_COLUMNS if column.name.endswith("_us")]
    totals = details.group_by("name").agg(pl.len().alias("count"), *(pl.col(name).sum() for name in times))
    totals = totals.join(of_operators(view.rank.profile), on="name", how="left")
    totals = totals.sort("host_self_us", "name", descending=[True, False])
    yield Facts(
        (
            Fact("Operators", count_text(details.height), "calls in the whole recording"),
            Fact("Names", count_text(totals.height)),
            Fact("Host time", time_text(float(totals["host_self_us"].sum())), "sum of the operators' own time"),
        )
    )
    yield _type_chart(totals["name"].to_list(), (totals["host_self_us"] / 1000).to_list(), view, False, totals)
    detail = "self leaves out the operators that an operator calls; the timeline shows the longest call"
    yield Table("host", "By name", totals, _HOST_COLUMNS, detail, window=WINDOW)


def _collectives(view: View) -> Iterator[Block]:
    collectives = view.rank.profile.communication_ops
    within = view.rank.step_range(view.step)
    if within is not None:
        collectives = collectives.filter(pl.col("start_ns").is_between(*within))
    if collectives.is_empty():
        yield Note("No collective ran in what is selected.", EMPTY)
        return
    first = collectives["start_ns"].min()
    timed = collectives.with_columns(
        ((pl.col("start_ns") - first) / 1000).alias("start_us"),
        (pl.col("duration_ns") / 1000).alias("duration_us"),
        end_time(),
    )
    kind = pl.when(pl.col("op_type") == "").then("name").otherwise("op_type").alias("op_type")
    totals = longest(timed.with_columns(kind), ["op_type"], pl.col("duration_us").sum()).sort(
        "duration_us", "op_type", descending=[True, False]
    )
    yield Facts(
        (
            Fact("Collectives", count_text(collectives.height), "in what is selected"),
            Fact("Total time", time_text(float(timed["duration_us"].sum())), "waiting included", view.modelled),
        )
    )
    values = (totals["duration_us"] / 1000).to_list()
    yield _type_chart(totals["op_type"].to_list(), values, view, view.modelled, totals)
    yield Table(
        "collectives", "All collectives", timed, _COLLECTIVE_COLUMNS, modelled=view.modelled, window=WINDOW
    )  # fmt: skip


PAGE = Page(
    "operators",
    "Operators",
    "Which operators take the time: by type and one by one.",
    _build,
    _controls,
    with_step=True,
)
