"""Two profiles side by side: what changed, sorted by what it costs."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from attrs import frozen

from drynpu.analysis._summary import Summary
from drynpu.analysis.operators import operator_details
from drynpu.tables import Profile

COMPARED = pl.Schema(
    {
        "name": pl.String,
        "first": pl.Float64,
        "second": pl.Float64,
        "change": pl.Float64,  # second - first
        "factor": pl.Float64,  # second / first; null where the first is 0
    }
)
"""One row per quantity, null where a side does not know it."""

COMPARED_TYPES = pl.Schema(
    {
        "name": pl.String,
        "first_count": pl.Float64,  # of a step
        "second_count": pl.Float64,
        "first": pl.Float64,  # us of a step
        "second": pl.Float64,
        "change": pl.Float64,
        "factor": pl.Float64,
    }
)
"""One row per type that either side has, what costs most first; a type that a side lacks has 0 there."""

_PARTS = {
    "computing": "computing_us",
    "communication, not overlapped": "communication_not_overlapped_us",
    "communication, overlapped": "overlapped_us",
    "free": "free_us",
}


@frozen(eq=False)
class Comparison:
    """
    The tables of a comparison. Times are us of a mean step, or of the recording where no steps are marked; sizes bytes.

    Attributes
    ----------
    steps, memory:
        Tables `COMPARED`.
    kernels, operators, collectives:
        Tables `COMPARED_TYPES`: kernels by operator type, host operators by name (their own host time), collectives by
        type.
    """

    steps: pl.DataFrame
    kernels: pl.DataFrame
    operators: pl.DataFrame
    collectives: pl.DataFrame
    memory: pl.DataFrame


def compare_profiles(first: tuple[Profile, Summary], second: tuple[Profile, Summary]) -> Comparison:
    """Return how the second profile differs from the first; each comes with its summary."""
    counts = [max(summary.steps.height, 1) for _, summary in (first, second)]
    totals = [(_by_type, "kernels"), (_host, "operators"), (_collectives, "collectives")]
    types = {
        name: _compare_types(function(first[0]), function(second[0]), counts[0], counts[1]) for function, name in totals
    }
    memory = {
        "peak allocated": (first[1].peak_allocated_bytes, second[1].peak_allocated_bytes),
        "peak reserved": (first[1].peak_reserved_bytes, second[1].peak_reserved_bytes),
    }
    return Comparison(steps=_steps(first[1], second[1]), memory=_compared(memory), **types)


def _steps(first: Summary, second: Summary) -> pl.DataFrame:
    values: dict[str, tuple[float | None, float | None]] = {
        name: (_mean(first.steps, column), _mean(second.steps, column)) for name, column in _PARTS.items()
    }
    return _compared({"step": (_step(first.steps), _step(second.steps)), **values})


def _step(steps: pl.DataFrame) -> float | None:
    """Return the length of a mean step; what overlaps is computing already."""
    parts = [_mean(steps, column) for column in _PARTS.values() if column != "overlapped_us"]
    return sum(part for part in parts if part is not None) if steps.height else None


def _mean(steps: pl.DataFrame, column: str) -> float | None:
    return float(steps[column].sum()) / steps.height if steps.height else None


def _compared(values: Mapping[str, tuple[float | None, float | None]]) -> pl.DataFrame:
    rows = [(name, a, b) for name, (a, b) in values.items()]
    frame = pl.DataFrame(rows, schema={"name": pl.String, "first": pl.Float64, "second": pl.Float64}, orient="row")
    return frame.with_columns(*_changes()).select(COMPARED.names())


def _changes() -> tuple[pl.Expr, pl.Expr]:
    factor = pl.when(pl.col("first") != 0).then(pl.col("second") / pl.col("first"))
    return (pl.col("second") - pl.col("first")).alias("change"), factor.alias("factor")


def _by_type(profile: Profile) -> pl.DataFrame:
    kernels = profile.compact("kernels", "op_type", "name", "duration_ns")
    typed = pl.col("op_type").cast(pl.String)
    # At level0 kernels have no types, only names.
    name = pl.when(typed == "").then(pl.col("name").cast(pl.String)).otherwise(typed).alias("name")
    return _totals(kernels.select(name, (pl.col("duration_ns") / 1000).alias("us")))


def _host(profile: Profile) -> pl.DataFrame:
    return _totals(operator_details(profile).select("name", pl.col("host_self_us").alias("us")))


def _collectives(profile: Profile) -> pl.DataFrame:
    operations = profile.communication_ops
    kind = pl.when(pl.col("op_type") == "").then("name").otherwise("op_type").alias("name")
    return _totals(operations.select(kind, (pl.col("duration_ns") / 1000).alias("us")))


def _totals(rows: pl.DataFrame) -> pl.DataFrame:
    """Return count and time by name; *rows* has ``name`` and ``us``."""
    return rows.group_by("name").agg(pl.len().cast(pl.Float64).alias("count"), pl.col("us").sum())


def _compare_types(first: pl.DataFrame, second: pl.DataFrame, first_steps: int, second_steps: int) -> pl.DataFrame:
    sides = [
        side.select("name", (pl.col("count") / steps).alias(f"{which}_count"), (pl.col("us") / steps).alias(which))
        for side, steps, which in ((first, first_steps, "first"), (second, second_steps, "second"))
    ]
    numbers = [name for name in COMPARED_TYPES if name not in ("name", "change", "factor")]
    return (
        sides[0]
        .join(sides[1], on="name", how="full", coalesce=True)
        .with_columns(pl.col(number).fill_null(0.0) for number in numbers)
        .with_columns(*_changes())
        .sort(pl.col("change").abs(), "name", descending=[True, False])
        .select(pl.col(name).cast(dtype) for name, dtype in COMPARED_TYPES.items())
    )
