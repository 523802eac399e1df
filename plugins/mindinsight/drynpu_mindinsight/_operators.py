"""Operators by type and one by one, with their operations (mindinsight_dashboard.md 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import orjson
import polars as pl

from drynpu import say
from drynpu.analysis.calculation import CUBE_FLOP_PER_CYCLE, kernel_work
from drynpu.tables.operators import SHAPE_COLUMNS
from drynpu.writers.number_text import UNKNOWN
from drynpu_mindinsight._device import NS_PER_MS, Device, csv_bytes, json_bytes

_AICPU = "AI_CPU"
_FLOPS_HEADER = (
    "full_kernel_name",
    "MFLOPs(10^6 cube)",
    "GFLOPS(10^9 cube)",
    "MFLOPs(10^6 vector)",
    "GFLOPS(10^9 vector)",
)
_NO_VALUE = "-"
"""What MindInsight shows of an operator whose operations are not known."""


def operator_files(device: Device) -> Mapping[str, bytes]:
    """Return the files of operators; nothing of kernels where none was recorded."""
    return {**dict(_aicore(device)), **dict(_aicpu(device))}


def _distinct(device: Device) -> pl.DataFrame:
    """
    Return one row per operator: same name, type and shapes; the longest first.

    MindInsight joins its files by the full name, so the second and further kinds of a name get ``-op<number>``, as
    MindSpore numbers operators of one name.
    """
    keys = ["name", "op_type", "task_type", *SHAPE_COLUMNS]
    columns = (*keys, "device_id", "stream_id", "task_id", "block_num", "start_ns", "duration_ns")
    kernels = device.rows(device.profile.compact("kernels", *columns)).filter(
        pl.col("task_type").cast(pl.String) != _AICPU
    )
    return (
        kernels.group_by(keys)
        .agg(
            pl.len().alias("count"),
            pl.col("duration_ns").sum().alias("total_ns"),
            pl.col("start_ns").min().alias("first_ns"),
            *(pl.col(name).first() for name in ("task_id", "stream_id", "block_num")),
        )
        .with_columns(pl.col(keys).cast(pl.String))
        .sort("first_ns")
        .with_columns(pl.int_range(pl.len()).over("name").alias("kind"))
        .with_columns(
            pl.when(pl.col("kind") > 0)
            .then(pl.col("name") + "-op" + pl.col("kind").cast(pl.String))
            .otherwise("name")
            .alias("full_name"),
            (pl.col("total_ns") / pl.col("count") / NS_PER_MS).alias("mean_ms"),
        )
        .with_columns(pl.col("full_name").str.split("/").list.last().alias("short_name"))
        .sort("total_ns", "full_name", descending=[True, False])
    )


def _aicore(device: Device) -> Iterator[tuple[str, bytes]]:
    operators = _distinct(device)
    if operators.is_empty():
        return
    # Without types (level0) the name is all there is.
    by_type = pl.when(pl.col("op_type") == "").then("name").otherwise("op_type").alias("op_type")
    shown = operators.with_columns(by_type)
    types = shown.group_by("op_type").agg(pl.col("total_ns", "count").sum())
    whole = types["total_ns"].sum() or 1
    yield (
        f"aicore_intermediate_{device.rank}_type.csv",
        csv_bytes(
            ("kernel_type", "total_time", "execution_frequency", "percent"),
            types.sort("total_ns", "op_type", descending=[True, False])
            .select("op_type", pl.col("total_ns") / NS_PER_MS, "count", (pl.col("total_ns") / whole).alias("share"))
            .iter_rows(),
        ),
    )
    yield (
        f"aicore_intermediate_{device.rank}_detail.csv",
        csv_bytes(
            ("full_kernel_name", "execution_time", "execution_frequency"),
            operators.select("full_name", "mean_ms", "count").iter_rows(),
        ),
    )
    yield f"framework_raw_{device.rank}.csv", _framework(shown)
    yield (
        f"output_op_compute_time_{device.rank}.txt",
        "".join(
            f"{name}  {mean:.6f}  {stream}\n"
            for name, mean, stream in operators.select("full_name", "mean_ms", "stream_id").iter_rows()
        ).encode(),
    )
    yield from _operations(device, operators)


def _framework(operators: pl.DataFrame) -> bytes:
    """Return framework_raw: where an operator ran first, its names, and its tensors."""
    name = pl.col("full_name")
    known = operators.select(
        "task_id",
        "stream_id",
        pl.col("block_num").alias("block_dim"),
        name.alias("full_kernel_name"),
        name.alias("op_name"),
        pl.col("short_name").alias("kernel_name"),
        pl.col("op_type").alias("kernel_type"),
        pl.when(name.str.contains("/", literal=True)).then(name.str.split("/").list.first()).alias("subgraph"),
    )
    tensors = map(_op_info, operators.iter_rows(named=True))
    rows = ((*row, info) for row, info in zip(known.iter_rows(), tensors, strict=True))
    return csv_bytes((*known.columns, "op_info"), rows)


def _op_info(row: Mapping[str, str]) -> str:
    tensors = {}
    for side in ("input", "output"):
        if not row[f"{side}_shapes"]:
            continue
        parts = [row[f"{side}_{what}"].split(";") for what in ("formats", "dtypes", "shapes")]
        # A list that is shorter than the list of shapes belongs to a damaged row.
        for number, (layout, dtype, shape) in enumerate(zip(*parts, strict=False)):
            tensors[f"{side}_{number}"] = {"format": layout, "data_type": dtype, "shape": shape}
    return orjson.dumps(tensors).decode() if tensors else ""


def _operations(device: Device, operators: pl.DataFrame) -> Iterator[tuple[str, bytes]]:
    """Yield the operations of the cube units; operations of the vector units are in no table and show as unknown."""
    keys = ["op_type", "task_type", "input_shapes", "input_dtypes", "output_shapes"]
    work = kernel_work(device.profile).select(*keys, pl.col("cube_flops").alias("flops")).unique(keys)
    known = operators.join(work, on=keys, how="inner", maintain_order="left").filter(pl.col("flops") > 0)
    if known.is_empty():
        return
    known = known.with_columns(
        (pl.col("flops") / 1e6).alias("mflops"), (pl.col("flops") / 1e9 / (pl.col("mean_ms") / 1e3)).alias("gflops")
    )
    rows = ((*row, _NO_VALUE, _NO_VALUE) for row in known.select("full_name", "mflops", "gflops").iter_rows())
    yield f"flops_{device.rank}.txt", csv_bytes(_FLOPS_HEADER, rows)
    profile = device.profile
    rate = known["gflops"].mean()
    peak = profile.aic_mhz * 1e6 * profile.aic_cores * CUBE_FLOP_PER_CYCLE
    summary: dict[str, object] = {"FLOPs": known["mflops"].sum(), "FLOPS": rate}
    if peak and isinstance(rate, float):
        summary["FLOPS_Utilization"] = rate * 1e9 / peak * 100
    yield f"flops_summary_{device.rank}.json", json_bytes(summary)


def _aicpu(device: Device) -> Iterator[tuple[str, bytes]]:
    """Yield AI CPU kernels with the parts of their time, which only records of the AI CPU tell."""
    recorded = device.rows(device.profile.frame("aicpu_kernels")).sort("start_ns")
    kernels = device.rows(device.profile.compact("kernels", "device_id", "task_type"))
    missing = kernels.filter(pl.col("task_type").cast(pl.String) == _AICPU).height - recorded.height
    if missing > 0:
        say(f"{missing} AI CPU kernels have no records of the AI CPU, so that MindInsight lacks them")
    if recorded.is_empty():
        return
    begin, end = pl.col("start_ns"), pl.col("start_ns") + pl.col("run_ns")
    times = ("total_ns", "dispatch_ns", "run_ns")
    rows = recorded.select(
        pl.int_range(1, pl.len() + 1).alias("serial"),
        pl.when(pl.col("name") == "").then(pl.lit(UNKNOWN)).otherwise("name").alias("kernel"),
        *(pl.col(name) / NS_PER_MS for name in times),
        ((begin - device.zero_ns) / NS_PER_MS).alias("run_start"),
        ((end - device.zero_ns) / NS_PER_MS).alias("run_end"),
    )
    yield (
        f"aicpu_intermediate_{device.rank}.csv",
        csv_bytes(
            ("serial_number", "kernel_type", "total_time", "dispatch_time", "execution_time", "run_start", "run_end"),
            rows.iter_rows(),
        ),
    )
