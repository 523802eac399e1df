"""npu_mem and npu_module_mem (cann_msprof.md 4.3)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.deliverables._units import KB, MB
from drynpu.deliverables.npu_memory.facts import APP, MODULE_NAMES
from drynpu.tables import Profile
from drynpu.writers._numbers import Writer, shortest_text, us_text


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the tables, sizes in KB."""
    del writer
    kilobytes = shortest_text(pl.col("reserved_bytes") / KB)
    modules = npu_module_mem(profile.npu_module_mem, "Total Reserved(KB)", kilobytes)
    return {"npu_mem": npu_mem(profile.npu_mem), "npu_module_mem": modules}


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return npu_module_mem of torch: megabytes as float text (torch_npu_profiler.md 4.10)."""
    del writer
    megabytes = (pl.col("reserved_bytes") / MB).cast(pl.String)
    return {"npu_module_mem.csv": npu_module_mem(profile.npu_module_mem, "Total Reserved(MB)", megabytes)}


def npu_mem(samples: pl.DataFrame) -> pl.DataFrame:
    """Return npu_mem as text."""
    ddr, hbm = pl.col("ddr_bytes"), pl.col("hbm_bytes")
    return samples.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.when(pl.col("event") == APP).then(pl.lit("app")).otherwise(pl.lit("device")).alias("event"),
        shortest_text(ddr / KB).alias("ddr(KB)"),
        shortest_text(hbm / KB).alias("hbm(KB)"),
        shortest_text((ddr + hbm) / KB).alias("memory(KB)"),
        us_text(pl.col("time_ns"), "\t").alias("timestamp(us)"),
    )


def npu_module_mem(samples: pl.DataFrame, title: str, size: pl.Expr) -> pl.DataFrame:
    """Return npu_module_mem as text, by component number then time; *size* goes under *title*."""
    component = pl.col("module_id").replace_strict(
        list(MODULE_NAMES), list(MODULE_NAMES.values()), default="Unknown", return_dtype=pl.String
    )
    return samples.sort("device_id", "module_id", "time_ns", maintain_order=True).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        component.alias("Component"),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        size.alias(title),
        pl.concat_str([pl.lit("NPU:"), pl.col("device_id").cast(pl.String)]).alias("Device"),
    )
