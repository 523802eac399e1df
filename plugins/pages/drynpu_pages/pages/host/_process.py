"""What the profiled process uses of its machine."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from drynpu.layouts.host import AVERAGE
from drynpu.views.content import Block, Chart, Column, Fact, Facts, Row, Table
from drynpu.views.runs import View
from drynpu.views.theme import count_text, share_text, size_text
from drynpu_pages.pages._recording import how_to_record
from drynpu_pages.pages.host._samples import chart, mean, most

_OPTION = "sampling.host_systems"
_TABLES = {
    "host_cpu_usage": "processor",
    "host_memory_usage": "memory",
    "host_disk_usage": "disk",
    "host_network_usage": "network",
}
_MOST_CORES = 8
_CORE_COLUMNS = (
    Column("cpu", "core"),
    Column("mean_pct", "mean usage (%)", 2),
    Column("most_pct", "highest usage (%)", 2),
    Column("count", "samples"),
)


def process(view: View) -> Iterator[Block]:
    """Yield the use of processor, memory, disk and network by the process."""
    profile = view.rank.profile
    tables = {name: profile.frame(name) for name in _TABLES}
    missing = [what for name, what in _TABLES.items() if tables[name].is_empty()]
    if len(missing) < len(tables):
        yield _facts(tables)
    charts = list(_charts(tables))
    for place in range(0, len(charts), 2):
        yield Row(charts[place : place + 2])
    if tables["host_cpu_usage"].height:
        yield _cores(tables["host_cpu_usage"])
    if missing:
        text = f"The use of {_listed(missing)} by the process was not sampled."
        yield how_to_record(profile, text, _OPTION)


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _facts(tables: dict[str, pl.DataFrame]) -> Facts:
    cpu, memory = tables["host_cpu_usage"], tables["host_memory_usage"]
    disk, network = tables["host_disk_usage"], tables["host_network_usage"]
    average = cpu.filter(pl.col("cpu") == AVERAGE)["usage"]
    cores = int(cpu["cores"][0]) if cpu.height else None
    used = mean(average)
    share = most(memory["usage"])
    total_kb = float(memory["total_kb"][0]) if memory.height else None
    peak = None if share is None or total_kb is None else share / 100 * total_kb * 1024
    return Facts(
        (
            Fact("Processor", share_text(None if used is None else used / 100), "of all cores, mean"),
            Fact("Cores", count_text(cores), "of the machine"),
            Fact("Memory", size_text(peak), f"resident at most, of {size_text(_bytes(total_kb))}"),
            Fact("Disk read", _rate(most(disk["read_kb_s"])), "at most"),
            Fact("Disk write", _rate(most(disk["write_kb_s"])), "at most"),
            Fact("Network", _rate(most(network["kb_s"])), "of all cards, at most"),
        ),
        "The process",
    )


def _bytes(size_kb: float | None) -> float | None:
    return None if size_kb is None else size_kb * 1024


def _rate(kb_s: float | None) -> str:
    text = size_text(_bytes(kb_s))
    return text if kb_s is None else f"{text}/s"


def _charts(tables: dict[str, pl.DataFrame]) -> Iterator[Chart]:
    cpu, memory = tables["host_cpu_usage"], tables["host_memory_usage"]
    if cpu.height:
        yield _processor(cpu)
    if memory.height:
        resident = memory.with_columns((pl.col("usage") * pl.col("total_kb") / 100 / 1024).alias("mib"))
        yield chart("host-memory", "Resident memory", resident, {"mib": "resident"}, "MiB")
    if tables["host_disk_usage"].height:
        names = {"read_kb_s": "read", "write_kb_s": "write"}
        yield chart("host-disk", "Disk traffic", tables["host_disk_usage"], names, "KB/s")
    if tables["host_network_usage"].height:
        detail = "of the cards of the machine, whoever uses them"
        yield chart(
            "host-network", "Network traffic", tables["host_network_usage"], {"kb_s": "both ways"}, "KB/s", detail
        )


def _processor(cpu: pl.DataFrame) -> Chart:
    """Return the chart of the cores, of the busiest ones where there are many."""
    cores = cpu.filter(pl.col("cpu") != AVERAGE)
    busiest = cores.group_by("cpu").agg(pl.col("usage").mean()).sort("usage", "cpu", descending=[True, False])
    shown = sorted(busiest["cpu"].head(_MOST_CORES).to_list(), key=lambda name: (len(name), name))
    wide = (
        cpu.filter(pl.col("cpu").is_in([AVERAGE, *shown]))
        .pivot("cpu", index="time_ns", values="usage", aggregate_function="last")
        .sort("time_ns")
    )
    names = {AVERAGE: "all cores"} | {name: f"core {name}" for name in shown}
    series = {name: title for name, title in names.items() if name in wide.columns}
    detail = f"the {_MOST_CORES} busiest cores" if busiest.height > _MOST_CORES else ""
    return chart("host-cpu", "Processor usage", wide, series, "%", detail)


def _cores(cpu: pl.DataFrame) -> Table:
    rows = (
        cpu.filter(pl.col("cpu") != AVERAGE)
        .group_by("cpu")
        .agg(
            pl.col("usage").mean().alias("mean_pct"),
            pl.col("usage").max().alias("most_pct"),
            pl.len().alias("count"),
        )
        .sort("mean_pct", "cpu", descending=[True, False])
    )
    return Table("cores", "Cores", rows, _CORE_COLUMNS, "samples above 100 % are left out, as the toolkit does")
