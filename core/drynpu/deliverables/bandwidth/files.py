"""hbm, ddr, llc_read_write and l2_cache, the layers and db tables HBM, DDR and LLC (cann_msprof.md 4.4 to 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import polars as pl

from drynpu.analysis import llc_averages, memory_averages
from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables._task_rates import device_column, task_rates
from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.db_columns import Rows, bytes_per_s, place_and_time
from drynpu.layouts.result_files import L2_CACHE_FILE
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, float_text, rounded_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = ("memory_bandwidth", "llc_samples", "l2_cache_tasks")


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the tables; the Python writer makes them on every chip."""
    del writer
    return {"hbm": _hbm(profile), "ddr": _ddr(profile), "llc_read_write": _llc(profile), "l2_cache": _l2_cache(profile)}


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return what torch_npu.profiler copies (torch_npu_profiler.md 3.6)."""
    del writer
    return {L2_CACHE_FILE: _l2_cache(profile)}


def _memory_columns(metric: pl.Expr) -> list[pl.Expr]:
    return [
        device_column(),
        metric.alias("Metric"),
        rounded_text(pl.col("read_mb_s")).alias("Read(MB/s)"),
        rounded_text(pl.col("write_mb_s")).alias("Write(MB/s)"),
    ]


def _hbm(profile: Profile) -> pl.DataFrame:
    """Return the mean of all units, not rounded, and then every unit."""
    averages = memory_averages(profile, "hbm")
    parts = [averages.select(_memory_columns(pl.col("unit_id").cast(pl.String))).clear()]
    for (device_id,), units in averages.group_by("device_id", maintain_order=True):
        means = [_decimal_mean(units[name].to_list()) for name in ("read_mb_s", "write_mb_s")]
        parts.append(pl.DataFrame([[str(device_id), "Average", *means]], schema=parts[0].schema, orient="row"))
        parts.append(units.select(_memory_columns(pl.col("unit_id").cast(pl.String))))
    return pl.concat(parts)


def _decimal_mean(values: list[float]) -> str:
    """Return the mean as the toolkit's decimal arithmetic prints it."""
    total = sum((Decimal(repr(value)) for value in values), Decimal(0))
    return str(total / len(values)).replace("E", "e")


def _ddr(profile: Profile) -> pl.DataFrame:
    return memory_averages(profile, "ddr").select(_memory_columns(pl.lit("Average")))


def _llc(profile: Profile) -> pl.DataFrame:
    """Return the mean of all caches and then every cache, each rounded to six decimals first."""
    units = llc_averages(profile).with_columns(pl.col("hit_rate", "mb_s").round(6))
    means = units.group_by("device_id", "mode", maintain_order=True).agg(pl.col("hit_rate", "mb_s").mean())
    rows = pl.concat(
        [
            means.with_columns(pl.lit("Average").alias("task"), pl.lit(-1, pl.Int64).alias("llc_id")),
            units.with_columns(pl.col("llc_id").cast(pl.String).alias("task")),
        ],
        how="diagonal",
    ).sort("device_id", "llc_id")
    return rows.select(
        device_column(),
        pl.col("mode").alias("Mode"),
        pl.col("task").alias("Task"),
        rounded_text(pl.col("hit_rate") * 100).alias("Hit Rate(%)"),
        rounded_text(pl.col("mb_s")).alias("Throughput(MB/s)"),
    )


def _l2_cache(profile: Profile) -> pl.DataFrame:
    """Return rates per task; hits are not shown on every chip."""
    counts = {"Hit Rate": "hits" if profile.platform.files.l2_hit_rate else None, "Victim Rate": "victims"}
    return task_rates(profile.frame("l2_cache_tasks"), counts)


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield DDR, HBM and LLC."""
    del writer
    pid, memory = profile.pid, profile.frame("memory_bandwidth")
    for layer, kind, name in (
        (facts.DDR_LAYER, "ddr", pl.lit("DDR")),
        (facts.HBM_LAYER, "hbm", pl.concat_str([pl.lit("HBM "), pl.col("unit_id").cast(pl.String)])),
    ):
        samples = memory.filter(pl.col("kind") == kind)
        yield from layer_head(pid, layer, samples, style)
        for event, title in (("read", "Read"), ("write", "Write")):
            chosen = samples.filter(pl.col("event") == event)
            series = {f"{title}(MB/s)": float_text(pl.col("mb_s"))}
            yield counters(pid, layer, chosen, pl.concat_str([name, pl.lit(f"/{title}")]), series)
    caches = profile.frame("llc_samples")
    yield from layer_head(pid, facts.LLC_LAYER, caches, style)
    mode = pl.col("mode").str.to_titlecase()
    name = pl.concat_str([pl.lit("LLC "), pl.col("llc_id").cast(pl.String), pl.lit(" "), mode])
    # The toolkit shows the rate of 1 under the title of a percentage.
    for title, key, column in (("Hit Rate", "Hit Rate(%)", "hit_rate"), ("Throughput", "Throughput(MB/s)", "mb_s")):
        shown = pl.concat_str([name, pl.lit(f"/{title}")])
        yield counters(pid, facts.LLC_LAYER, caches, shown, {key: float_text(pl.col(column))})


def db_rows(profile: Profile) -> Rows:
    """Yield the tables; those that were not sampled have no rows."""
    memory, rate = profile.frame("memory_bandwidth"), bytes_per_s(pl.col("mb_s"))
    hbm = memory.filter(pl.col("kind") == "hbm")
    columns = [rate.alias("bandwidth"), pl.col("unit_id").alias("hbmId")]
    yield "HBM", hbm.select(*place_and_time(hbm), *columns, type=pl.col("event"))
    ways = [rate.filter(pl.col("event") == way).first().fill_null(0).alias(way) for way in ("read", "write")]
    ddr = memory.filter(pl.col("kind") == "ddr").group_by("device_id", "time_ns", maintain_order=True).agg(ways)
    yield "DDR", ddr.select(*place_and_time(ddr), "read", "write")
    caches = profile.frame("llc_samples")
    yield (
        "LLC",
        caches.select(
            *place_and_time(caches),
            "mode",
            pl.col("llc_id").alias("llcId"),
            (pl.col("hit_rate") * 100).alias("hitRate"),
            rate.alias("throughput"),
        ),
    )
