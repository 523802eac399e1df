"""Operations and bytes of every distinct kernel."""

from __future__ import annotations

import math
from functools import lru_cache

import polars as pl

from drynpu.analysis.calculation._formulas import CUBE_FAMILIES, Call, cube_operations, formula_of
from drynpu.kernels import DTYPES, TensorDesc, family_of
from drynpu.tables import Profile
from drynpu.tables.operators import SHAPE_COLUMNS

KERNEL_WORK = pl.Schema(
    {
        "op_type": pl.String,
        "task_type": pl.String,
        "input_shapes": pl.String,
        "input_dtypes": pl.String,
        "output_shapes": pl.String,
        "count": pl.Int64,
        "total_us": pl.Float64,
        "cube_flops": pl.Float64,  # of one kernel; null where neither counters nor a formula tell
        "bytes": pl.Int64,  # inputs and outputs of one kernel; null without shapes
        "gflops": pl.Float64,  # 10^9 operations per second; null likewise
        "source": pl.String,  # counters, shapes or ""
    }
)
"""One row per distinct kernel (type, core, shapes, data types), the longest first."""

CUBE_FLOP_PER_CYCLE = 4096 * 2
"""16-bit operations of one cube unit in one cycle (mindinsight_dashboard.md 5)."""

UNCOUNTED_WORK = pl.Schema(
    {
        "op_type": pl.String,
        "task_type": pl.String,
        "count": pl.Int64,
        "total_us": pl.Float64,
        "share_pct": pl.Float64,  # of the time of all kernels
        "reason": pl.String,
    }
)
"""One row per kernel type without known operations, the longest first: together with the others it is all time."""

KERNEL_KEY = ["op_type", "task_type", *SHAPE_COLUMNS]
"""Columns that make a kernel distinct."""
_COUNTED = "cube_fops"
"""End of the names of counter columns that hold the operations themselves (group ArithmeticUtilization)."""
_FORMAT_PREFIX = "FORMAT_"


def kernel_work(profile: Profile, within_ns: tuple[int, int] | None = None) -> pl.DataFrame:
    """
    Return table :data:`KERNEL_WORK` of the kernels that start inside *within_ns*, of all without it.

    Operations are those that the counters of ArithmeticUtilization state; where these were not collected, what the
    shapes give for matrix products, convolutions and attention.
    """
    counted = [name for name in profile.pmu_columns if name.endswith(_COUNTED)]
    kernels = profile.compact("kernels", *KERNEL_KEY, "start_ns", "duration_ns", *counted)
    if within_ns is not None:
        kernels = kernels.filter(pl.col("start_ns").is_between(*within_ns))
    distinct = kernels.group_by(KERNEL_KEY).agg(
        pl.len().cast(pl.Int64).alias("count"),
        (pl.col("duration_ns").sum() / 1000).alias("total_us"),
        *(pl.col(name).mean().alias(name) for name in counted),
    )
    distinct = distinct.with_columns(pl.col(KERNEL_KEY).cast(pl.String))
    calls = [call_of(*row) for row in distinct.select(SHAPE_COLUMNS).iter_rows()]
    types = distinct["op_type"].to_list()
    by_shape = [cube_operations(kind, call) for kind, call in zip(types, calls, strict=True)]
    by_counter = pl.sum_horizontal(counted) if counted else pl.lit(None, pl.Float64)
    flops = pl.when(by_counter > 0).then(by_counter).otherwise(pl.col("by_shape"))
    source = pl.when(by_counter > 0).then(pl.lit("counters")).when(pl.col("by_shape").is_not_null())
    return (
        distinct.with_columns(
            pl.Series("by_shape", by_shape, dtype=pl.Float64),
            pl.Series("bytes", [_bytes(*row) for row in distinct.select(SHAPE_COLUMNS).iter_rows()], dtype=pl.Int64),
        )
        .with_columns(flops.alias("cube_flops"), source.then(pl.lit("shapes")).otherwise(pl.lit("")).alias("source"))
        .with_columns((pl.col("cube_flops") * pl.col("count") / pl.col("total_us") / 1000).alias("gflops"))
        .sort("total_us", "op_type", "input_shapes", descending=[True, False, False])
        .select(pl.col(name).cast(dtype) for name, dtype in KERNEL_WORK.items())
    )


def uncounted_work(work: pl.DataFrame) -> pl.DataFrame:
    """Return table :data:`UNCOUNTED_WORK` of `kernel_work`."""
    whole_us = float(work["total_us"].sum()) or 1.0
    return (
        work.filter(pl.col("cube_flops").is_null())
        .group_by("op_type", "task_type")
        .agg(pl.col("count").sum(), pl.col("total_us").sum())
        .with_columns(
            (pl.col("total_us") / whole_us * 100).alias("share_pct"),
            pl.col("op_type").map_elements(_reason, pl.String).alias("reason"),
        )
        .sort("total_us", "op_type", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in UNCOUNTED_WORK.items())
    )


def _reason(op_type: str) -> str:
    if formula_of(op_type) is not None:
        return "its shapes do not tell"
    return "no formula" if family_of(op_type).name in CUBE_FAMILIES else "no work of the cube units is known"


def work_totals(work: pl.DataFrame) -> tuple[float, float, float]:
    """Return operations, and us of kernels with known operations and of all kernels, of `kernel_work`."""
    known = work.filter(pl.col("cube_flops").is_not_null())
    flops = float((known["cube_flops"] * known["count"]).sum())
    return flops, float(known["total_us"].sum()), float(work["total_us"].sum())


def call_of(*texts: str) -> Call:
    """Return the tensors of a kernel from the texts of `SHAPE_COLUMNS`."""
    return Call(_tensors(*texts[:3]), _tensors(*texts[3:]))


def _tensors(shapes: str, dtypes: str, formats: str) -> list[TensorDesc]:
    """Return the tensors of one side; a type that is not known counts as one of 16 bits."""
    dims = _shapes(shapes)
    count = len(dims)
    types, layouts = ((text.split(";") + [""] * count)[:count] for text in (dtypes, formats))
    return [
        TensorDesc(shape, dtype if dtype in DTYPES else "FLOAT16", layout.removeprefix(_FORMAT_PREFIX))
        for shape, dtype, layout in zip(dims, types, layouts, strict=True)
    ]


def _shapes(text: str) -> list[tuple[int, ...]]:
    """Return the shapes of tensors; what is no number (``N/A``) makes a tensor without axes."""
    return [_shape(each) for each in text.split(";")] if text else []


@lru_cache(maxsize=4096)  # kernels of all ranks have the same shapes
def _shape(text: str) -> tuple[int, ...]:
    dims = text.split(",")
    return tuple(map(int, dims)) if all(dim.strip().isdigit() for dim in dims) else ()


def _bytes(*texts: str) -> int | None:
    """Return the bytes of all inputs and outputs; ``None`` if a data type is unknown or nothing has a shape."""
    if not texts[0] and not texts[3]:
        return None
    total = 0
    for shapes, dtypes in ((texts[0], texts[1]), (texts[3], texts[4])):
        # A list of dtypes that is shorter than the list of shapes belongs to a damaged row.
        for shape, dtype in zip(_shapes(shapes), dtypes.split(";"), strict=False):
            if shape and dtype not in DTYPES:
                return None
            total += math.prod(shape) * DTYPES[dtype].size_bytes if shape else 0
    return total
