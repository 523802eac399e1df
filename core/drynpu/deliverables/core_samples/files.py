"""ai_core_utilization, ai_vector_core_utilization, layer and db tables of core samples (cann_msprof.md 3, 4.4, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.core_samples import facts
from drynpu.deliverables.db_columns import Rows, place_and_time
from drynpu.deliverables.units import GB
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, float_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = ("core_metrics", "core_samples")

_CORE = (pl.col("core_id").alias("coreId"), pl.col("core_type").alias("coreType"))

_FILES = {"ai_core_utilization": "AIC", "ai_vector_core_utilization": "AIV"}
_BOUND = (("mac_ratio", "vec_ratio", "mte2_ratio"), ("mac_exe_ratio", "vec_exe_ratio", "mte2_exe_ratio"))
_FIRST_INTERVAL_NS = 1e9
"""The toolkit's, for a sample that has none before it."""


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the tables; the Python writer makes them on every chip."""
    del writer
    return {stem: _table(profile, kind) for stem, kind in _FILES.items()}


def _table(profile: Profile, kind: str) -> pl.DataFrame:
    """Return a row per core and their mean, for each device."""
    metrics = profile.frame("core_metrics").filter(pl.col("core_type") == kind)
    parts = [
        _of_device(profile, device, rows) for (device,), rows in metrics.group_by("device_id", maintain_order=True)
    ]
    return pl.concat(parts, how="diagonal").fill_null("N/A") if parts else pl.DataFrame()


def _of_device(profile: Profile, device: object, metrics: pl.DataFrame) -> pl.DataFrame:
    """Round values before the mean is taken and the memory bound is worked out, as the toolkit does."""
    rounded = metrics.with_columns(pl.col("value").fill_null(0.0).round(3))
    wide = rounded.pivot("metric", index="core_id", values="value", maintain_order=True).sort("core_id")
    names = wide.columns[1:]
    rows = pl.concat([wide.select(names), wide.select(pl.col(names).mean().round(3))])
    blank = profile.platform.files.blank_columns
    cells = [(pl.lit("N/A") if name in blank else float_text(pl.col(name))).alias(name) for name in names]
    for mac, vec, mte2 in _BOUND:
        if {mac, vec, mte2} <= set(names):
            # The toolkit works it out before it blanks columns.
            most = pl.max_horizontal(mac, vec)
            bound = pl.when(most > 0).then((pl.col(mte2) / most).round(3)).otherwise(0.0)
            cells.append(float_text(bound).alias("memory_bound"))
    cores = pl.Series("Core ID", [*(f"Core{core}" for core in wide["core_id"].to_list()), "Average"])
    table = rows.select(cells)
    return table.select(pl.lit(str(device)).alias("Device_id"), cores, *table.columns)


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield how busy the cube cores were since their last samples, and the mean of all."""
    del writer
    samples = profile.frame("core_samples").filter((pl.col("core_type") == "AIC") & (pl.col("mhz") > 0))
    interval = pl.col("interval_ns").fill_null(_FIRST_INTERVAL_NS)
    busy = (pl.col("cycles") * 1000 / (pl.col("mhz") * interval) * 100).round(6)
    shown = samples.filter(interval > 0).with_columns(busy.alias("busy"))
    yield from layer_head(profile.pid, facts.UTILIZATION_LAYER, shown, style)
    value = {"Utilization(%)": float_text(pl.col("busy"))}
    name = pl.concat_str([pl.lit("Core "), pl.col("core_id").cast(pl.String)])
    yield counters(profile.pid, facts.UTILIZATION_LAYER, shown, name, value)
    # Samples belong together by their place, at the time of the last core's.
    place = pl.int_range(pl.len()).over("device_id", "core_id").alias("place")
    number = pl.col("core_id").n_unique().over("device_id").alias("cores")
    together = shown.with_columns(place, number).group_by("device_id", "place", maintain_order=True)
    means = together.agg(pl.col("time_ns").last(), (pl.col("busy").sum() / pl.col("cores").first()).round(6))
    yield counters(profile.pid, facts.UTILIZATION_LAYER, means, "Average", value)


def db_rows(profile: Profile) -> Rows:
    """Yield how busy cores were and what they counted; the first sample of a core has no interval and is 0 percent."""
    samples = profile.frame("core_samples").filter(pl.col("mhz") > 0)
    busy = (pl.col("cycles") * 1000 / (pl.col("mhz") * pl.col("interval_ns")) * 100).fill_null(0.0)
    shown = samples.filter(pl.col("interval_ns").fill_null(1) > 0)
    numbers = [pl.col("cycles").alias("totalCycle"), busy.alias("usage"), pl.col("mhz").alias("freq")]
    yield "SAMPLE_PMU_TIMELINE", shown.select(*place_and_time(shown), *numbers, *_CORE)
    device = pl.col("device_id").alias("deviceId")
    metrics = profile.frame("core_metrics")
    first = pl.col("metric") == pl.col("metric").first().over("device_id", "core_type", "core_id")
    spent_ns = (pl.col("cycles") * 1000 / pl.col("mhz")).alias("value")
    total = pl.lit("total_time").alias("metric")
    yield "SAMPLE_PMU_SUMMARY", metrics.filter(first).select(device, total, spent_ns, *_CORE)
    scale = pl.when(pl.col("metric").str.ends_with("(GB/s)")).then(GB).otherwise(1.0)
    title = pl.col("metric").str.strip_suffix("(GB/s)")
    yield "SAMPLE_PMU_SUMMARY", metrics.select(device, title, (pl.col("value").fill_null(0.0) * scale), *_CORE)
