"""npu_mem and npu_module_mem, the layer NPU MEM, and NPU_MEM and NPU_MODULE_MEM (cann_msprof.md 4.3, 4.5, 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.db_columns import Rows, place_and_time
from drynpu.deliverables.npu_memory.facts import NPU_MEM_LAYER
from drynpu.deliverables.units import KB, MB
from drynpu.layouts.npu_memory import APP, DEVICE, MODULE_NAMES
from drynpu.layouts.result_files import NPU_MODULE_MEM_FILE
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer, float_text, shortest_text, us_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = ("npu_mem", "npu_module_mem")

_DDR, _HBM = pl.col("ddr_bytes"), pl.col("hbm_bytes")
_DB_TYPES = {APP: "app", DEVICE: "device"}


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the tables, sizes in KB."""
    del writer
    kilobytes = shortest_text(pl.col("reserved_bytes") / KB)
    modules = _npu_module_mem(profile, "Total Reserved(KB)", kilobytes)
    samples = {"npu_mem": _npu_mem(profile.frame("npu_mem"))}
    return {**samples, "npu_module_mem": modules} if profile.platform.files.module_memory else samples


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return npu_module_mem of torch: megabytes as float text (torch_npu_profiler.md 4.10)."""
    del writer
    megabytes = (pl.col("reserved_bytes") / MB).cast(pl.String)
    return {NPU_MODULE_MEM_FILE: _npu_module_mem(profile, "Total Reserved(MB)", megabytes)}


def _npu_mem(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.when(pl.col("event") == APP).then(pl.lit("APP")).otherwise(pl.lit("Device")).alias("event"),
        shortest_text(_DDR / KB).alias("ddr(KB)"),
        shortest_text(_HBM / KB).alias("hbm(KB)"),
        shortest_text((_DDR + _HBM) / KB).alias("memory(KB)"),
        us_text(pl.col("time_ns"), "\t").alias("timestamp(us)"),
    )


def _npu_module_mem(profile: Profile, title: str, size: pl.Expr) -> pl.DataFrame:
    """Return npu_module_mem as text, by component number then time; *size* goes under *title*."""
    component = pl.col("module_id").replace_strict(
        list(MODULE_NAMES), list(MODULE_NAMES.values()), default="Unknown", return_dtype=pl.String
    )
    samples = profile.frame("npu_module_mem")
    return samples.sort("device_id", "module_id", "time_ns", maintain_order=True).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        component.alias("Component"),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        size.alias(title),
        pl.concat_str([pl.lit("NPU:"), pl.col("device_id").cast(pl.String)]).alias("Device"),
    )


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield three counters for each sample: DDR, HBM and their sum, of the process or of the device."""
    del writer
    samples = profile.frame("npu_mem").with_row_index("sample")
    if samples.is_empty():
        return
    yield from layer_head(profile.pid, NPU_MEM_LAYER, samples, style)
    prefix = pl.when(pl.col("event") == APP).then(pl.lit("APP/")).otherwise(pl.lit("Device/"))
    series = pl.concat(
        samples.select(
            "sample",
            "device_id",
            "time_ns",
            pl.lit(order).alias("order"),
            pl.concat_str([prefix, pl.lit(name)]).alias("series"),
            (size / KB).alias("kilobytes"),
        )
        for order, (name, size) in enumerate((("DDR", _DDR), ("HBM", _HBM), ("Memory", _DDR + _HBM)))
    ).sort("sample", "order")
    yield counters(profile.pid, NPU_MEM_LAYER, series, pl.col("series"), {"KB": float_text(pl.col("kilobytes"))})


def db_rows(profile: Profile) -> Rows:
    """Yield the samples, sizes in bytes."""
    memory, modules = profile.frame("npu_mem"), profile.frame("npu_module_mem")
    kind = pl.col("event").replace_strict(_DB_TYPES, default="N/A", return_dtype=pl.String).alias("type")
    yield "NPU_MEM", memory.select(kind, _DDR.alias("ddr"), _HBM.alias("hbm"), *place_and_time(memory))
    columns = [pl.col("module_id").alias("moduleId"), pl.col("reserved_bytes").alias("totalReserved")]
    yield "NPU_MODULE_MEM", modules.select(*columns, *place_and_time(modules))
