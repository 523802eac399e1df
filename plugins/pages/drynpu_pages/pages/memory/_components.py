"""Who holds the memory: components of the process, modules of the device software, plans of static graphs."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.layouts.npu_memory import MODULE_NAMES
from drynpu.views.content import Block, Chart, Column, Table
from drynpu.views.runs import View
from drynpu.views.theme import count_text, size_text
from drynpu_pages.figures import curves, stacked_bars
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages.memory._curve import MIB
from drynpu_pages.pages.memory._selected import all_records, title_of

_MOST = 8
_COMPONENT_COLUMNS = (
    Column("title", "component", wide=True),
    Column("device_id", "device"),
    Column("allocated_mib", "peak allocated (MiB)", 2),
    Column("reserved_mib", "peak reserved (MiB)", 2),
    Column("active_mib", "peak active (MiB)", 2),
    Column("count", "records"),
)
_MODULE_COLUMNS = (
    Column("name", "component of the device software", wide=True),
    Column("device_id", "device"),
    Column("peak_mib", "peak reserved (MiB)", 2),
    Column("last_mib", "last reserved (MiB)", 2),
    Column("count", "samples"),
)
_PLAN_COLUMNS = (
    Column("name", "operator", wide=True),
    Column("graph_id", "graph"),
    Column("first_node", "first node"),
    Column("last_node", "last node"),
    Column("size_kib", "size (KiB)", 2),
)


def components(view: View) -> Iterator[Block]:
    """Yield the totals of each component, and what the device software holds."""
    records = all_records(view.rank)
    if records.height:
        peaks = [
            (pl.col(f"{name}_bytes").max() / MIB).alias(f"{name}_mib") for name in ("allocated", "reserved", "active")
        ]
        table = records.group_by("component", "device_id").agg(*peaks, pl.len().alias("count"))
        table = table.sort("reserved_mib", "component", descending=[True, False], nulls_last=True)
        titles = [title_of(name) for name in table["component"]]
        named = table.with_columns(pl.Series("title", titles, dtype=pl.String))
        yield _component_chart(named, view)
        yield Table("components", "By component", named, _COMPONENT_COLUMNS, modelled=view.modelled)
    yield from _modules(view)


def _component_chart(table: pl.DataFrame, view: View) -> Chart:
    several = table["device_id"].n_unique() > 1
    labels = [
        f"{row['title']} (device {row['device_id']})" if several else row["title"]
        for row in table.iter_rows(named=True)
    ]
    allocated = table["allocated_mib"].fill_null(0.0)
    free = (table["reserved_mib"].fill_null(0.0) - allocated).clip(lower_bound=0.0)
    parts = {
        "allocated": ("Peak allocated", allocated.to_list()),
        "reserved": ("Reserved beyond it", free.to_list()),
    }
    height = 90 + 32 * len(labels)
    return Chart(
        "component-peaks",
        "Peak by component",
        lambda: stacked_bars(labels, parts, axis_title="memory (MiB)", unit="MiB", horizontal=True, height_px=height),
        "; ".join(
            f"{label}: {size_text(None if reserved is None else reserved * MIB)} reserved"
            for label, reserved in zip(labels, table["reserved_mib"], strict=True)
        )
        + ".",
        modelled=view.modelled,
        height_px=height,
    )


def _modules(view: View) -> Iterator[Block]:
    profile = view.rank.profile
    samples = profile.frame("npu_module_mem").sort("time_ns", maintain_order=True)
    if samples.is_empty():
        yield how_to_record(
            profile, "What the parts of the device software reserve was not sampled.", "sampling.hardware_memory_hz"
        )
        return
    name = pl.col("module_id").replace_strict(
        list(MODULE_NAMES), list(MODULE_NAMES.values()), default="Unknown", return_dtype=pl.String
    )
    named = samples.with_columns(name.alias("name"))
    held = pl.col("reserved_bytes") / MIB
    table = (
        named.group_by("name", "device_id")
        .agg(held.max().alias("peak_mib"), held.last().alias("last_mib"), pl.len().alias("count"))
        .sort("peak_mib", "name", descending=[True, False])
    )
    if table.filter((pl.col("count") > 1) & (pl.col("peak_mib") > 0)).height:
        yield _module_curves(named, table, view)
    yield Table(
        "device-modules",
        "Device software",
        table,
        _MODULE_COLUMNS,
        "what each part of the device software reserves, as npu_module_mem has it",
        view.modelled,
    )


def _module_curves(named: pl.DataFrame, table: pl.DataFrame, view: View) -> Chart:
    """Return the curves of the parts that hold most, over all times of samples; each holds until its next sample."""
    device = table["device_id"][0]
    names = table.filter((pl.col("device_id") == device) & (pl.col("peak_mib") > 0))["name"].head(_MOST).to_list()
    wide = (
        named.filter(pl.col("name").is_in(names) & (pl.col("device_id") == device))
        .pivot("name", index="time_ns", values="reserved_bytes", aggregate_function="last")
        .sort("time_ns")
        .with_columns(pl.exclude("time_ns").forward_fill())
    )
    x = ((wide["time_ns"] - wide["time_ns"][0]) / 1e6).to_list()
    series = {name: (name, (wide[name] / MIB).to_list()) for name in names}
    return Chart(
        "device-module-curves",
        "Device software over time",
        lambda: curves(x, series, x_title="time (ms)", y_title="reserved (MiB)"),
        f"Memory of {', '.join(names)} over {count_text(wide.height)} samples.",
        modelled=view.modelled,
    )


def graph_plans(view: View) -> Iterator[Block]:
    """Yield the memory that compiled graphs planned, by node."""
    rows = view.rank.profile.frame("static_memory")
    if rows.is_empty():
        return
    table = rows.with_columns(
        pl.when(pl.col("name") == "").then(pl.lit("the whole graph")).otherwise("name").alias("name"),
        (pl.col("size_bytes") / 1024).alias("size_kib"),
    ).sort("size_kib", descending=True)
    yield Table("graph-plans", "Planned by graphs", table, _PLAN_COLUMNS, "the rows of static_op_mem", view.modelled)
