"""Host metrics: usage of CPU, memory, disk and network (cann_msprof.md 4.4 to 4.6; Ascend/msprof host_prof)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.db_columns import Rows
from drynpu.deliverables.host import facts
from drynpu.deliverables.units import KB
from drynpu.layouts.host import AVERAGE
from drynpu.tables import Profile
from drynpu.writers.layers import HOST_SLOT, Layer
from drynpu.writers.number_text import UNKNOWN, Writer, float_text, rounded_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = (
    *("host_cpu_usage", "host_memory_usage", "host_disk_usage", "host_network_usage"),
    *("host_cpu_times", "host_cpu_shares", "host_memory", "host_process_memory"),
)

_TIME = pl.col("time_ns").alias("timestampNs")

_SYSTEM_MEMORY = {
    "Memory Total(kB)": "total_kb",
    "Memory Free(kB)": "free_kb",
    "Buffers(kB)": "buffers_kb",
    "Cached(kB)": "cached_kb",
    "Share Memory(kB)": "shmem_kb",
    "Commit Limit(kB)": "commit_limit_kb",
    "Committed AS(kB)": "committed_kb",
    "Huge Pages Total(pages)": "huge_pages_total",
    "Huge Pages Free(pages)": "huge_pages_free",
}
_CPU_SHARES = {
    "User(%)": "user",
    "Sys(%)": "system",
    "IoWait(%)": "iowait",
    "Irq(%)": "irq",
    "Soft(%)": "softirq",
    "Idle(%)": "idle",
}


_PAGES = ("size_pages", "resident_pages", "shared_pages")

_PROCESS_NAME = pl.col("name").str.replace_all(":", "", literal=True).alias("Name")
"""The parser takes the colons out of names: it splits lines at them."""


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """
    Return the tables of usage; a table without rows has no data.

    What the vendor recommends is a high percentile of usage above 0 with room to spare, and for cores the number of
    those that were used at all.
    """
    del writer
    return {
        "host_cpu_usage": _cpu(profile),
        "host_mem_usage": _memory(profile),
        "host_disk_usage": _disk(profile),
        "host_network_usage": _network(profile),
        "cpu_usage": _cpu_times(profile),
        "process_cpu_usage": _process_cpu(profile),
        "sys_mem": _system_memory(profile),
        "process_mem": _process_memory(profile),
    }


def _whole_mean(name: str) -> pl.Expr:
    """Return the mean of whole numbers without its fraction, as the database of the parser divides them."""
    return pl.col(name).sum() // pl.len()


def _host(rows: pl.DataFrame, *columns: pl.Expr) -> pl.DataFrame:
    """Return one row of what the rows add up to, none for none."""
    return rows.select(pl.lit("host").alias("Device_id"), *columns).head(min(rows.height, 1))


def _recommended(usage: pl.Series) -> float:
    """Return what to provide for a usage; 0 where there was none."""
    above = usage.filter(usage > 0).sort().to_list()
    rank = math.ceil((len(above) - 1) * facts.RECOMMENDED_SHARE) if above else 0
    return above[rank] / facts.BEST_LOAD if above else 0.0


def _cpu(profile: Profile) -> pl.DataFrame:
    cores = profile.frame("host_cpu_usage").filter(pl.col("cpu") != AVERAGE)
    used = pl.col("cpu").filter(pl.col("usage") > 0).n_unique()
    return _host(
        cores,
        pl.col("cores").first().cast(pl.String).alias("Total Cpu Numbers"),
        pl.col("cpu").n_unique().cast(pl.String).alias("Occupied Cpu Numbers"),
        used.cast(pl.String).alias("Recommend Cpu Numbers"),
    )


def _memory(profile: Profile) -> pl.DataFrame:
    total, used = pl.col("total_kb").first(), profile.frame("host_memory_usage")
    return _host(
        used,
        total.cast(pl.String).alias("Total Memory(KB)"),
        rounded_text(pl.col("usage").max() * total / 100).alias("Peak Used Memory(KB)"),
        rounded_text(pl.lit(_recommended(used["usage"])) * total / 100).alias("Recommend Memory(KB)"),
    )


def _disk(profile: Profile) -> pl.DataFrame:
    disk = profile.frame("host_disk_usage")
    return _host(
        disk,
        rounded_text(pl.col("read_kb_s").max()).alias("Peak Disk Read(KB/s)"),
        rounded_text(pl.lit(_recommended(disk["read_kb_s"]))).alias("Recommend Disk Read(KB/s)"),
        rounded_text(pl.col("write_kb_s").max()).alias("Peak Disk Write(KB/s)"),
        rounded_text(pl.lit(_recommended(disk["write_kb_s"]))).alias("Recommend Disk Write(KB/s)"),
    )


def _network(profile: Profile) -> pl.DataFrame:
    """Return the cards whose speed is known; without any, their speed is 0 and the rest is not known."""
    network = profile.frame("host_network_usage")
    known = pl.col("card_kb_s").first().is_not_null()
    cells = {
        "Netcard Speed(KB/s)": (pl.col("card_kb_s").first(), "0"),
        "Peak Used Speed(KB/s)": (pl.col("kb_s").max(), UNKNOWN),
        "Recommend Speed(KB/s)": (pl.lit(_recommended(network["kb_s"])), UNKNOWN),
    }
    return _host(
        network,
        *(
            pl.when(known).then(rounded_text(value)).otherwise(pl.lit(unknown)).alias(title)
            for title, (value, unknown) in cells.items()
        ),
    )


def _cpu_times(profile: Profile) -> pl.DataFrame:
    """
    Return the shares of all samples added up, of the counters as they stand.

    The counters of drynpu begin with the recording; on a real host they begin with the host.
    """
    times = profile.frame("host_cpu_times")
    shares = times.select(pl.col(name).sum() / pl.col("total").sum() * 100 for name in _CPU_SHARES.values())
    cells = shares.select(rounded_text(pl.col(name)).alias(title) for title, name in _CPU_SHARES.items())
    return _host(times, pl.lit("host").alias("Cpu Type"), *(pl.lit(cell).first().alias(cell.name) for cell in cells))


def _process_cpu(profile: Profile) -> pl.DataFrame:
    rows = profile.frame("host_cpu_shares").group_by("pid", maintain_order=True)
    mean = (pl.col("share").sum() * 100 / pl.len()).alias("share")
    shares = rows.agg(pl.col("name").first(), mean).sort("share", "pid", descending=True)
    return shares.select(
        pl.lit("host").alias("Device_id"),
        pl.col("pid").cast(pl.String).alias("PID"),
        _PROCESS_NAME,
        rounded_text(pl.col("share")).alias("CPU(%)"),
    )


def _system_memory(profile: Profile) -> pl.DataFrame:
    memory = profile.frame("host_memory")
    return _host(memory, *(_whole_mean(name).cast(pl.String).alias(title) for title, name in _SYSTEM_MEMORY.items()))


def _process_memory(profile: Profile) -> pl.DataFrame:
    """Return means of processes, who holds most first."""
    rows = profile.frame("host_process_memory").group_by("pid", maintain_order=True)
    means = rows.agg(pl.col("name").first(), *(_whole_mean(name) for name in _PAGES))
    most = means.sort(pl.sum_horizontal(_PAGES), pl.col("pid"), descending=True)
    return most.select(
        pl.lit("host").alias("Device_id"),
        pl.col("pid").cast(pl.String).alias("PID"),
        _PROCESS_NAME,
        *(pl.col(name).cast(pl.String).alias(f"{name.removesuffix('_pages').capitalize()}(pages)") for name in _PAGES),
    )


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield CPU, Memory, Network and Disk Usage; a sample whose usage is unknown is not shown."""
    del writer
    cpu = pl.concat_str([pl.lit("CPU "), pl.col("cpu")])
    yield from _layer(profile, facts.CPU_LAYER, "host_cpu_usage", cpu, style)
    yield from _layer(profile, facts.MEMORY_LAYER, "host_memory_usage", "Memory Usage", style)
    yield from _layer(profile, facts.NETWORK_LAYER, "host_network_usage", "Network Usage", style)
    yield from _layer(profile, facts.DISK_LAYER, "host_disk_usage", "Disk Usage", style)


def _layer(profile: Profile, layer: Layer, table: str, name: str | pl.Expr, style: JsonStyle) -> Iterator[Block]:
    known = profile.frame(table).filter(pl.col("usage").is_not_null())
    samples = known.with_columns(pl.lit(HOST_SLOT, pl.Int64).alias("device_id"))
    yield from layer_head(profile.pid, layer, samples, style)
    yield counters(profile.pid, layer, samples, name, {"Usage(%)": float_text(pl.col("usage").round(6))})


def db_rows(profile: Profile) -> Rows:
    """Yield the tables of what was measured; what is no core, such as the average, is left out."""
    core = pl.col("cpu").str.to_integer(strict=False).alias("cpuId")
    yield "CPU_USAGE", profile.frame("host_cpu_usage").select(_TIME, core, "usage").drop_nulls("cpuId")
    yield "HOST_MEM_USAGE", profile.frame("host_memory_usage").select(_TIME, "usage")
    rates = [(pl.col(f"{way}_kb_s") * KB).alias(f"{way}Rate") for way in ("read", "write")]
    yield "HOST_DISK_USAGE", profile.frame("host_disk_usage").select(_TIME, *rates, "usage")
    speed = (pl.col("kb_s") * KB).alias("speed")
    # Without the speed of a card the toolkit has no rows.
    yield "HOST_NETWORK_USAGE", profile.frame("host_network_usage").select(_TIME, "usage", speed).drop_nulls("usage")
