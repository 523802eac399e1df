"""Host metrics: counters of /proc turned into usage as the vendor's parser does (Ascend/msprof host_prof)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import polars as pl

from drynpu.deliverables.host import facts
from drynpu.deliverables.host._proc_lines import CPU_TIMES
from drynpu.deliverables.host._text_packets import SYSTEM_MEMORY
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.units import KB
from drynpu.layouts.host import AVERAGE, PAGE_KB

HOST_CPU_USAGE = pl.Schema(
    {
        "time_ns": pl.Int64,  # begin of the interval, as in the other tables of usage
        "cpu": pl.String,  # number of the core, or Avg
        "usage": pl.Float64,  # %
        "cores": pl.Int64,  # of the host
    }
)
"""How busy this process kept each core, by time."""

HOST_MEMORY_USAGE = pl.Schema({"time_ns": pl.Int64, "usage": pl.Float64, "total_kb": pl.Int64})
"""Share of the memory of the host that this process held (%)."""

HOST_DISK_USAGE = pl.Schema(
    {
        "time_ns": pl.Int64,
        "read_kb_s": pl.Float64,
        "write_kb_s": pl.Float64,
        "usage": pl.Float64,  # %; null where the kernel does not say
    }
)
"""What this process read and wrote, and its share of time spent waiting for it."""

HOST_NETWORK_USAGE = pl.Schema(
    {
        "time_ns": pl.Int64,
        "usage": pl.Float64,  # %; null where the speed of no card is known
        "kb_s": pl.Float64,
        "card_kb_s": pl.Float64,  # of all cards whose speed is known; null if there is none
    }
)
"""Traffic of the network cards of the host."""

HOST_CPU_TIMES = pl.Schema(
    {
        "time_ns": pl.Int64,
        "cpu": pl.String,
        **dict.fromkeys(("user", "system", "iowait", "irq", "softirq", "idle", "total"), pl.Int64),
    }
)
"""Clock ticks of the cores of the host since it started; ``total`` has the other kinds of time, too."""

HOST_CPU_SHARES = pl.Schema({"time_ns": pl.Int64, "pid": pl.Int64, "name": pl.String, "share": pl.Float64})
"""Time that processes and their children used, of the time that the host had (1 is all of it)."""

HOST_MEMORY = pl.Schema({"time_ns": pl.Int64, **dict.fromkeys(SYSTEM_MEMORY, pl.Int64)})
"""Memory of the host."""

HOST_PROCESS_MEMORY = pl.Schema(
    {
        "time_ns": pl.Int64,
        "pid": pl.Int64,
        "name": pl.String,
        **dict.fromkeys(("size_pages", "resident_pages", "shared_pages"), pl.Int64),
    }
)
"""Memory of the processes of the host, in pages."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "host_cpu_usage": HOST_CPU_USAGE,
    "host_memory_usage": HOST_MEMORY_USAGE,
    "host_disk_usage": HOST_DISK_USAGE,
    "host_network_usage": HOST_NETWORK_USAGE,
    "host_cpu_times": HOST_CPU_TIMES,
    "host_cpu_shares": HOST_CPU_SHARES,
    "host_memory": HOST_MEMORY,
    "host_process_memory": HOST_PROCESS_MEMORY,
}


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the tables that have rows."""
    tables = {}
    for name, (read, kind, build) in _SOURCES.items():
        rows = read(context, kind)
        if rows.height:
            tables[name] = build(context, rows).cast(SCHEMAS[name])
    return {name: table for name, table in tables.items() if table.height}


def _unix(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.Series("time_ns", context.clock.host_to_unix(rows["time_ns"].to_numpy())))


def _read(context: LoadContext, kind: str) -> pl.DataFrame:
    rows = context.reader.read_text(kind)
    return _unix(context, rows) if rows.height else rows


def _untimed(context: LoadContext, kind: str) -> pl.DataFrame:
    return context.reader.read_text(kind)


def _each(context: LoadContext, kind: str) -> pl.DataFrame:
    """Return the rows of all processes, with the process of the file where the lines do not say it."""
    reader = context.reader
    parts = [
        reader.read_text(kind, pid=pid).with_columns(pl.lit(pid, pl.Int64).alias("pid"))
        for pid in reader.processes(kind)
    ]
    if not parts:
        return reader.read_text(kind, pid=0).with_columns(pl.lit(0, pl.Int64).alias("pid"))
    return _unix(context, pl.concat(parts)).sort("pid", "time_ns", maintain_order=True)


def _cpu(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    """
    Compare every thread with the snapshot before; a core has what the threads used that were on it at the end.

    A core above 100 % is left out: a thread had moved there.
    """
    info = context.reader.host_info
    rows = rows.with_columns((pl.col("utime_ticks") + pl.col("stime_ticks")).alias("used"))
    rows = rows.with_columns(pl.col("time_ns").rank("dense").cast(pl.Int64).alias("snapshot"))
    before = rows.select(
        "tid",
        pl.col("snapshot") + 1,
        pl.col("time_ns").alias("begin_ns"),
        pl.col("uptime_s").alias("uptime_before"),
        pl.col("used").alias("used_before"),
    )
    whole = (pl.col("uptime_s") - pl.col("uptime_before")) * info.sys_clock_freq
    spent = rows.join(before, on=["tid", "snapshot"], maintain_order="left").with_columns(whole.alias("whole"))
    spent = spent.filter(pl.col("whole") > 0).with_columns(
        pl.min_horizontal(pl.col("used") - pl.col("used_before"), "whole").alias("own")
    )
    share = pl.col("own").sum() * 100 / pl.col("whole").first()
    cores = (
        spent.group_by("begin_ns", "processor")
        .agg(share.round(6).alias("usage"))
        .filter(pl.col("usage") <= facts.MOST_USAGE)
        .select(pl.col("begin_ns").alias("time_ns"), pl.col("processor").cast(pl.String).alias("cpu"), "usage")
    )
    mean = spent.group_by("begin_ns").agg((share / max(info.cpu_nums, 1)).round(6).alias("usage"))
    average = mean.select(pl.col("begin_ns").alias("time_ns"), pl.lit(AVERAGE).alias("cpu"), "usage")
    order = pl.col("cpu").cast(pl.Int64, strict=False).fill_null(-1)
    table = pl.concat([cores, average]).sort("time_ns", order)
    return table.with_columns(pl.lit(info.cpu_nums, pl.Int64).alias("cores"))


def _memory(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    total = context.reader.host_info.memory_total_kb
    if not total:
        return rows.clear().select("time_ns", pl.lit(0.0).alias("usage"), pl.lit(0).alias("total_kb"))
    return rows.select(
        pl.col("time_ns").shift(),
        # The parser keeps six decimals of the share, and computes KB from it.
        (pl.col("resident_pages") * PAGE_KB / total * 100).round(6).alias("usage"),
        pl.lit(total, pl.Int64).alias("total_kb"),
    ).slice(1)


def _disk(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    """Give the intervals their times: they follow each other at the rate of the monitor."""
    try:
        rate = float(str(context.settings().get("host_disk_freq", 0)))
    except ValueError:
        rate = 0.0
    if rows.height and rate <= 0:
        context.notes.append("host_disk is left out: sample.json does not say how often it was read")
        rows = rows.clear()
    step_ns = 1e9 / (rate or 1.0)
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    table = rows.select(
        (pl.col("start_ns") + (place * step_ns).cast(pl.Int64)).alias("time_ns"),
        (pl.col("read_bytes_s") / KB).alias("read_kb_s"),
        (pl.col("write_bytes_s") / KB).alias("write_kb_s"),
        pl.col("io_percent").alias("usage"),
    )
    return _unix(context, table)


def _network(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    """
    Add up the cards whose speed is known; without any, all but the loopback, whose usage is then unknown.

    The usage describes the mean card, measured against the last one, as the vendor does.
    """
    speeds = {
        card.name: card.speed * facts.BYTES_PER_MBIT for card in context.reader.host_info.net_cards if card.speed > 0
    }
    is_meant = pl.col("interface").is_in(list(speeds)) if speeds else pl.col("interface") != facts.LOOPBACK
    chosen = rows.filter(is_meant).with_columns(pl.col("time_ns").rank("dense").cast(pl.Int64).alias("snapshot"))
    before = chosen.select(
        "interface",
        pl.col("snapshot") + 1,
        pl.col("time_ns").alias("begin_ns"),
        pl.col("rx_bytes").alias("rx_before"),
        pl.col("tx_bytes").alias("tx_before"),
    )
    pairs = chosen.join(before, on=["interface", "snapshot"], maintain_order="left").with_columns(
        (pl.col("rx_bytes") - pl.col("rx_before")).alias("rx"), (pl.col("tx_bytes") - pl.col("tx_before")).alias("tx")
    )
    speed = pl.col("interface").replace_strict(speeds, default=None, return_dtype=pl.Float64)
    moved = (
        pairs.filter((pl.col("rx") >= 0) & (pl.col("tx") >= 0) & (pl.col("time_ns") > pl.col("begin_ns")))
        .group_by("begin_ns", maintain_order=True)
        .agg(
            (pl.col("rx") + pl.col("tx")).sum().alias("bytes"),
            pl.len().alias("cards"),
            ((pl.col("time_ns") - pl.col("begin_ns")).first() / 1e9).alias("seconds"),
            speed.last().alias("speed"),
        )
    )
    return moved.select(
        pl.col("begin_ns").alias("time_ns"),
        (pl.col("bytes") / pl.col("cards") / pl.col("seconds") * 100 / pl.col("speed")).alias("usage"),
        (pl.col("bytes") / pl.col("seconds") / KB).alias("kb_s"),
        pl.lit(sum(speeds.values()) / KB if speeds else None, pl.Float64).alias("card_kb_s"),
    )


def _cpu_times(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    del context
    return rows.with_columns(pl.sum_horizontal(CPU_TIMES).alias("total")).select(HOST_CPU_TIMES.names())


def _cpu_shares(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    del context
    used = ("utime_ticks", "stime_ticks", "children_utime_ticks", "children_stime_ticks")
    share = pl.sum_horizontal(used) / pl.sum_horizontal([f"all_{name}" for name in CPU_TIMES])
    return rows.with_columns(share.alias("share")).select(HOST_CPU_SHARES.names())


def _system_memory(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    del context
    return rows.select(HOST_MEMORY.names())


def _process_memory(context: LoadContext, rows: pl.DataFrame) -> pl.DataFrame:
    del context
    return rows.select(HOST_PROCESS_MEMORY.names())


_Read: TypeAlias = Callable[[LoadContext, str], pl.DataFrame]
_Build: TypeAlias = Callable[[LoadContext, pl.DataFrame], pl.DataFrame]

_SOURCES: Mapping[str, tuple[_Read, str, _Build]] = {
    "host_cpu_usage": (_read, "host_cpu", _cpu),
    "host_memory_usage": (_read, "host_mem", _memory),
    "host_disk_usage": (_untimed, "host_disk", _disk),
    "host_network_usage": (_read, "host_network", _network),
    "host_cpu_times": (_read, "host_sys_cpu", _cpu_times),
    "host_cpu_shares": (_each, "host_process_cpu", _cpu_shares),
    "host_memory": (_read, "host_sys_mem", _system_memory),
    "host_process_memory": (_each, "host_process_mem", _process_memory),
}
"""How the rows of each table are read, from which text kind, and what is made of them where there are any."""
