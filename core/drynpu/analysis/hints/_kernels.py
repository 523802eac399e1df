"""Kernels that take more time than their work needs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.analysis.hints._finding import Finding, per_text
from drynpu.analysis.hints._remedies import framework_of, remedy_for
from drynpu.arrays import I64
from drynpu.kernels import UNMAPPED_SUFFIX
from drynpu.tables import Profile, intervals

_CONVERSIONS = ("TransData", "Transpose", "TransposeD", "Cast", "AsStrided", "TensorMove", "ViewCopy")
"""Types that change the layout or the data type and compute nothing."""
_CONVERSION_SHARE = 0.1
"""Share of the kernel time from which conversions are named; ours."""
_AI_CPU_SHARE = 0.01
"""The same of the AI CPU, whose kernels the vendor's advice is to avoid (mindinsight_dashboard.md 11)."""
_TINY_NS, _TINY_COUNT = 5000, 200
"""Kernels that are shorter count as tiny; named from so many a step. Ours: the launch of one takes about as long."""
_TINY_SHARE = 0.3
_CUBE_PCT, _CUBE_SHARE = 40.0, 0.1
"""Use of the cube units under which matrix kernels with such a share of the time are named; ours."""
_NAMED = 3
"""Types that a finding names."""


@frozen
class _Avoidable:
    """Kernels that could run elsewhere or not at all, and the share of the kernel time from which they are named."""

    name: str
    title: str
    kernels: pl.Expr
    share: float
    remedy: str = ""
    """Empty where it depends on the framework."""


_AVOIDABLE = (
    _Avoidable(
        "ai-cpu",
        "Operators on the AI CPU",
        pl.col("task_type") == "AI_CPU",
        _AI_CPU_SHARE,
        "Choose operators or data types that the AI cores have (INT32 or FLOAT in place of INT64 and DOUBLE), or do the"
        " work once, outside the loop.",
    ),
    _Avoidable(
        "conversions",
        "Layouts and data types are converted",
        pl.col("op_type").is_in(_CONVERSIONS),
        _CONVERSION_SHARE,
    ),
)


def kernel_findings(profile: Profile, steps: pl.DataFrame) -> Iterator[Finding]:
    """Yield what is conspicuous about the kernels; *steps* is the step trace."""
    kernels = profile.compact("kernels", "op_type", "task_type", "name", "start_ns", "duration_ns")
    whole_ns = int(kernels["duration_ns"].sum())
    if not whole_ns:
        return
    count, per, framework = max(steps.height, 1), per_text(steps), framework_of(profile)
    kernels = kernels.with_columns(pl.col("op_type", "task_type").cast(pl.String))
    for kind in _AVOIDABLE:
        yield from _avoidable(kind, kernels, framework, count, per)
    yield from _tiny(kernels, framework, count, per)
    yield from _cube(profile, whole_ns, count, per)
    yield from _unmapped(kernels)


def _types(kernels: pl.DataFrame) -> str:
    """Return the types that take most of the time, with how often they ran."""
    rows = kernels.group_by("op_type").agg(pl.len(), pl.col("duration_ns").sum())
    top = rows.sort("duration_ns", "op_type", descending=[True, False]).head(_NAMED)
    return ", ".join(f"{name or 'unknown'} x{count}" for name, count, _ in top.iter_rows())


def _times(kernels: pl.DataFrame) -> I64:
    begins = kernels["start_ns"].to_numpy()
    return intervals.union(np.stack([begins, begins + kernels["duration_ns"].to_numpy()], axis=1))


def _avoidable(kind: _Avoidable, kernels: pl.DataFrame, framework: str, count: int, per: str) -> Iterator[Finding]:
    whole_ns = int(kernels["duration_ns"].sum())
    avoidable = kernels.filter(kind.kernels)
    spent = int(avoidable["duration_ns"].sum())
    if spent > kind.share * whole_ns:
        yield Finding(
            name=kind.name,
            title=kind.title,
            evidence=f"{spent / whole_ns:.1%} of the kernel time: {_types(avoidable)}.",
            remedy=kind.remedy or remedy_for(kind.name, framework),
            cost_us=spent / 1000 / count,
            per=per,
            page="operators",
            intervals=_times(avoidable),
        )


def _tiny(kernels: pl.DataFrame, framework: str, count: int, per: str) -> Iterator[Finding]:
    whole_ns = int(kernels["duration_ns"].sum())
    # What has no length has no known time.
    tiny = kernels.filter(pl.col("duration_ns").is_between(1, _TINY_NS, closed="left"))
    spent = int(tiny["duration_ns"].sum())
    if tiny.height / count >= _TINY_COUNT and spent > _TINY_SHARE * whole_ns:
        yield Finding(
            name="tiny-kernels",
            title="Many tiny kernels",
            evidence=f"{tiny.height / count:.0f} kernels {per} last less than {_TINY_NS / 1000:.0f} us:"
            f" {_types(tiny)}.",
            remedy=remedy_for("tiny-kernels", framework),
            cost_us=spent / 1000 / count,
            per=per,
            page="operators",
            intervals=_times(tiny),
        )


def _cube(profile: Profile, whole_ns: int, count: int, per: str) -> Iterator[Finding]:
    column = "cube_utilization(%)"
    if column not in profile.pmu_columns:
        return
    idle = profile.compact("kernels", "op_type", "task_type", "duration_ns", column).filter(
        pl.col("task_type").cast(pl.String).is_in(["AI_CORE", "MIX_AIC"]) & (pl.col(column) < _CUBE_PCT)
    )
    spent = int(idle["duration_ns"].sum())
    if spent > _CUBE_SHARE * whole_ns:
        mean = float((idle[column] * idle["duration_ns"]).sum()) / max(spent, 1)
        yield Finding(
            name="cube-use",
            title="Matrix kernels that use little of the cube units",
            evidence=f"{spent / whole_ns:.1%} of the kernel time at {mean:.0f} % cube use:"
            f" {_types(idle.with_columns(pl.col('op_type').cast(pl.String)))}.",
            remedy="Larger batches, sizes that are multiples of 16 (of 32 for INT8), FLOAT16 or BFLOAT16.",
            cost_us=spent * (1 - mean / 100) / 1000 / count,
            per=per,
            page="calculation",
        )


def _unmapped(kernels: pl.DataFrame) -> Iterator[Finding]:
    unmapped = kernels.filter(pl.col("name").cast(pl.String).str.ends_with(UNMAPPED_SUFFIX))
    if unmapped.height:
        yield Finding(
            name="unmapped",
            title="Operators that drynpu has no rule for",
            evidence=f"{unmapped.height} kernels stand for them: {_types(unmapped)}.",
            remedy="Take their times as placeholders. A rule of your own gives them work: docs/extending.md.",
        )
