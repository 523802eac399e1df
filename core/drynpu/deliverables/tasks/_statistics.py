"""op_statistic, api_statistic, task_time and the memory samples of the toolkit (cann_msprof.md 4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl

from drynpu.writers._numbers import Writer, duration_text, shortest_text, statistic_text, us_text
from drynpu.writers._text_table import TextTable

__all__ = [
    "MODULE_NAMES",
    "api_statistic_table",
    "npu_mem_table",
    "npu_module_mem_mb_table",
    "npu_module_mem_table",
    "op_statistic_table",
    "task_time_table",
]

# The numbers of ENUM_MODULE have gaps; the page lists a part, the rest is Ascend/msprof db_constant.h.
_MODULES = {
    0: "SLOG IDEDD SCC HCCL FMK CCU DVPP RUNTIME CCE HDC DRV NET",
    22: "DEVMM KERNEL LIBMEDIA CCECPU",
    27: "ROS HCCP ROCE TEFUSION PROFILING DP APP TS TSDUMP AICPU LP TDT FE MD MB ME IMU IMP GE",
    47: "CAMERA ASCENDCL TEEOS ISP SIS HSM DSS PROCMGR BBOX AIVECTOR TBE FV",
    60: "TUNE HSS FFTS OP UDF HICAID TSYNC AUDIO TPRT ASCENDCKERNEL ASYS ATRACE RTC SYSMONITOR AMP ADETECT MBUFF",
    77: "CUSTOM",
}

_PLAIN = ("Device_id", "stream_id", "task_id", "task_time(us)", "task_start(us)", "task_stop(us)")
"""Columns of task_time whose cells are numbers."""

MODULE_NAMES: Mapping[int, str] = MappingProxyType(
    {number: name for first, text in _MODULES.items() for number, name in enumerate(text.split(), start=first)}
)
"""Components of npu_module_mem (cann_msprof.md 4.6, ENUM_MODULE)."""


def op_statistic_table(statistic: pl.DataFrame, writer: Writer) -> pl.DataFrame:
    """
    Return op_statistic as text, by total descending.

    The native writer's average is whole nanoseconds rounded down, as genuine files show (a total of 2839.08 over 56
    calls is shown as 50.697); the Python writer rounds to three decimals.
    """
    average = pl.col("avg_us")
    if writer is Writer.NATIVE:
        total_ns = (pl.col("total_us") * 1000).round(0).cast(pl.Int64)
        average = (total_ns // pl.col("count")).cast(pl.Float64) / 1000
    return statistic.sort("total_us", descending=True, maintain_order=True).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("op_type").alias("OP Type"),
        pl.col("core_type").alias("Core Type"),
        pl.col("count").cast(pl.String).alias("Count"),
        statistic_text(pl.col("total_us"), writer).alias("Total Time(us)"),
        statistic_text(pl.col("min_us"), writer).alias("Min Time(us)"),
        statistic_text(average, writer).alias("Avg Time(us)"),
        statistic_text(pl.col("max_us"), writer).alias("Max Time(us)"),
        statistic_text(pl.col("ratio_pct"), writer).alias("Ratio(%)"),
    )


def api_statistic_table(statistic: pl.DataFrame, writer: Writer, device_ids: tuple[int, ...]) -> pl.DataFrame:
    """Return api_statistic as text, by name then level; ``Device_id`` is ``host``, or a number (Python writer)."""
    device = "host" if writer is Writer.NATIVE or not device_ids else str(device_ids[0])
    return statistic.sort("name", "level", maintain_order=True).select(
        pl.lit(device).alias("Device_id"),
        pl.col("level").alias("Level"),
        pl.col("name").alias("API Name"),
        statistic_text(pl.col("time_us"), writer).alias("Time(us)"),
        pl.col("count").cast(pl.String).alias("Count"),
        statistic_text(pl.col("avg_us"), writer).alias("Avg(us)"),
        statistic_text(pl.col("min_us"), writer).alias("Min(us)"),
        statistic_text(pl.col("max_us"), writer).alias("Max(us)"),
        statistic_text(pl.col("variance"), writer).alias("Variance"),
    )


def task_time_table(tasks: pl.DataFrame, writer: Writer) -> TextTable:
    """Return task_time as text, by start."""
    start = pl.col("start_ns")
    used = tasks.select("device_id", "kernel_name", "kernel_type", "stream_id", "task_id", "duration_ns", start)
    cells = [
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("kernel_name").replace("", "N/A"),
        pl.col("kernel_type").replace("", "N/A"),
        pl.col("stream_id").cast(pl.String),
        pl.col("task_id").cast(pl.String),
        duration_text(pl.col("duration_ns"), writer).alias("task_time(us)"),
        us_text(start, "\t").alias("task_start(us)"),
        us_text(start + pl.col("duration_ns"), "\t").alias("task_stop(us)"),
    ]
    return TextTable.of(used.sort("start_ns", "device_id", "stream_id", "task_id", maintain_order=True), cells, _PLAIN)


def npu_mem_table(npu_mem: pl.DataFrame) -> pl.DataFrame:
    """Return npu_mem as text, sizes in KB (1024 bytes)."""
    ddr, hbm = pl.col("ddr_bytes"), pl.col("hbm_bytes")
    return npu_mem.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.when(pl.col("event") == 0).then(pl.lit("app")).otherwise(pl.lit("device")).alias("event"),
        shortest_text(ddr / 1024).alias("ddr(KB)"),
        shortest_text(hbm / 1024).alias("hbm(KB)"),
        shortest_text((ddr + hbm) / 1024).alias("memory(KB)"),
        us_text(pl.col("time_ns"), "\t").alias("timestamp(us)"),
    )


def npu_module_mem_table(npu_module_mem: pl.DataFrame) -> pl.DataFrame:
    """Return npu_module_mem as text, by component number then time, sizes in KB (1024 bytes)."""
    return _module_rows(npu_module_mem, "Total Reserved(KB)", shortest_text(pl.col("reserved_bytes") / 1024))


def npu_module_mem_mb_table(npu_module_mem: pl.DataFrame) -> pl.DataFrame:
    """Return npu_module_mem of torch: megabytes as float text (torch_npu_profiler.md 4.10)."""
    megabytes = (pl.col("reserved_bytes") / 1024**2).cast(pl.String)
    return _module_rows(npu_module_mem, "Total Reserved(MB)", megabytes)


def _module_rows(npu_module_mem: pl.DataFrame, title: str, size: pl.Expr) -> pl.DataFrame:
    component = pl.col("module_id").replace_strict(
        list(MODULE_NAMES), list(MODULE_NAMES.values()), default="Unknown", return_dtype=pl.String
    )
    return npu_module_mem.sort("device_id", "module_id", "time_ns", maintain_order=True).select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        component.alias("Component"),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        size.alias(title),
        pl.concat_str([pl.lit("NPU:"), pl.col("device_id").cast(pl.String)]).alias("Device"),
    )
