"""Measured kernels against the model: how far off it is on a profile, and coefficients that fit it better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np
import polars as pl
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from drynpu import CommandError, staged
from drynpu.arrays import F64
from drynpu.kernels import (
    Calibration,
    Generation,
    Tuning,
    estimate,
    width_by_duration,
)
from drynpu.platforms import Chip
from drynpu.tables import Profile
from drynpu_calibration._described import described_kernel
from drynpu_calibration._fitting import Measured, calibration_document, fit, predicted_us
from drynpu_calibration._known_types import KnownTypes
from drynpu_calibration._rows import task_type_of, tensors_of

_SIDES: Final = [[f"{side}_{what}" for what in ("shapes", "dtypes", "formats")] for side in ("input", "output")]
_TEXTS: Final = ["op_type", "task_type", "op_state", *_SIDES[0], *_SIDES[1]]
_ENGINES: Final = ("AI_CORE", "AI_VECTOR", "MIX")
LEAST_KERNELS: Final = 20
"""Different kernels that a calibration needs: with fewer, a handful of types would move all others."""
_HOW: Final = "Record with profiler_level Level1 or higher and record_shapes, or give more profiles."
_ENDS_OF_80: Final = (0.1, 0.9)


@frozen(kw_only=True)
class Kernels:
    """Different kernels with how often each ran, and launches that were left out by why."""

    kernels: tuple[tuple[Measured, int], ...] = ()
    left_out: Mapping[str, int] = field(factory=dict)

    def with_others(self, others: Kernels) -> Kernels:
        """Return both."""
        left_out = Counter(self.left_out)
        left_out.update(others.left_out)
        return Kernels(kernels=self.kernels + others.kernels, left_out=dict(left_out))


@frozen(kw_only=True)
class Errors:
    """How far predictions of kernels are off; ``total`` counts every launch, the rest each different kernel once."""

    kernels: int
    median: float
    within_quarter: float
    total: float


@frozen(kw_only=True)
class Recalibration:
    """A calibration file, with the errors of the coefficients that it starts from and of those that were fitted."""

    text: str
    before: Errors
    after: Errors
    left_out: Mapping[str, int]


def measured_kernels(profile: Profile, chip: Chip, source: str) -> Kernels:
    """
    Return the different kernels of a profile with the median of their durations.

    Kernels without shapes are left out, and so are kernels of engines whose times are not fitted: AI CPU,
    communication, events.
    """
    table = profile.kernels.filter(pl.col("duration_ns") > 0)
    absent = [pl.lit("").alias(name) for name in _TEXTS if name not in table.columns]
    flag = pl.col("hf32").fill_null(value=False) if "hf32" in table.columns else pl.lit(value=False).alias("hf32")
    grouped = (
        table.with_columns(*absent, flag)
        .with_columns(pl.col(_TEXTS).fill_null("").str.strip_chars('"'))
        .group_by(*_TEXTS, "hf32", maintain_order=True)
        .agg(pl.col("duration_ns").median().alias("median"), pl.len().alias("count"))
    )
    kernels: list[tuple[Measured, int]] = []
    left_out: Counter[str] = Counter()
    for row in grouped.iter_rows(named=True):
        task = task_type_of(row["task_type"])
        if task is None or not task.value.startswith(_ENGINES):
            engine = row["task_type"] or "an unknown engine"
            left_out[f"tasks of {engine}, whose times are not fitted"] += row["count"]
            continue
        inputs, outputs = (tensors_of(*(row[name] for name in side)) for side in _SIDES)
        if not inputs and not outputs:
            left_out["kernels without shapes"] += row["count"]
            continue
        static = row["op_state"] == "static"
        spec = described_kernel(row["op_type"], task, inputs, outputs, hf32=bool(row["hf32"]), static=static)
        kernels.append((Measured(spec=spec, chip=chip, source=source, duration_us=row["median"] / 1000), row["count"]))
    return Kernels(kernels=tuple(kernels), left_out=dict(left_out))


def known_kernels(kernels: Kernels, calibration: Calibration) -> Kernels:
    """Return the kernels whose types have a time; each other type is left out with a sentence about it."""
    known = KnownTypes.from_calibration(calibration)
    left_out = Counter(kernels.left_out)
    for kernel, count in kernels.kernels:
        if kernel.spec.op_type not in known:
            left_out[known.nearest(kernel.spec.op_type)] += count
    chosen = tuple(pair for pair in kernels.kernels if pair[0].spec.op_type in known)
    return Kernels(kernels=chosen, left_out=dict(left_out))


def validate_kernels(kernels: Kernels, calibration: Calibration, *, by: str = "family") -> pl.DataFrame:
    """
    Return a row for each kernel family, or kernel type with ``by="type"``, what took longest first.

    Columns: family and the number of its types, or type and its support; kernels (different ones), launches,
    measured_ms, predicted_ms, total (relative), median, within_25 and inside_80 (shares).

    Raises
    ------
    CommandError
        There is no kernel to compare.
    """
    if not kernels.kernels:
        raise CommandError(f"no kernel has shapes and a time to compare. {_HOW}")
    tuning = Tuning(calibration=calibration)
    rows = []
    for kernel, count in staged("Predicting kernels", kernels.kernels):
        prediction = estimate(kernel.spec, kernel.chip, tuning)
        inside = prediction.low_us <= kernel.duration_us <= prediction.high_us
        what = (prediction.family, kernel.spec.op_type, prediction.support)
        rows.append((*what, count, kernel.duration_us, prediction.us, inside))
    names = ["family", "type", "support", "count", "measured", "predicted", "inside"]
    error = (pl.col("predicted") / pl.col("measured") - 1).abs()
    measured, predicted = ((pl.col(name) * pl.col("count")).sum() / 1000 for name in ("measured", "predicted"))
    return (
        pl.DataFrame(rows, schema=names, orient="row")
        .group_by(by, maintain_order=True)
        .agg(
            pl.col("type").n_unique().alias("types") if by == "family" else pl.col("support").first(),
            pl.len().alias("kernels"),
            pl.col("count").sum().alias("launches"),
            measured.alias("measured_ms"),
            predicted.alias("predicted_ms"),
            (predicted / measured - 1).alias("total"),
            error.median().alias("median"),
            (error <= 0.25).mean().alias("within_25"),
            pl.col("inside").mean().alias("inside_80"),
        )
        .sort("measured_ms", descending=True)
    )


def recalibrate(measured: Kernels, usual: Calibration) -> Recalibration:
    """
    Return coefficients that were fitted to measured kernels, shrunk towards the coefficients of *usual*.

    All kernels are of one generation of chips. Families and types that were not measured keep the coefficients of
    *usual*; a type that had no time before has one afterwards. The errors are of types that had one, afterwards of
    each half of the kernels with the other half fitted.

    Raises
    ------
    CommandError
        There are fewer than 20 different kernels.
    """
    kernels = [kernel for kernel, _ in measured.kernels]
    timed = known_kernels(measured, usual)
    if len(timed.kernels) < LEAST_KERNELS:
        few = f"{len(timed.kernels)} different kernels with shapes and times are too few"
        raise CommandError(f"{few}; a calibration needs {LEAST_KERNELS}. {_HOW}")
    generation = kernels[0].chip.generation
    known = usual.generations.get(generation, Generation())
    types = {kernel.spec.op_type for kernel, _ in timed.kernels}
    had_time = np.array([kernel.spec.op_type in types for kernel in kernels])
    counts = np.array([count for _, count in timed.kernels], dtype=np.float64)
    actual = np.array([kernel.duration_us for kernel, _ in timed.kernels])
    held_out = _held_out(kernels, usual)[had_time]
    low, high = np.quantile(np.log(actual / held_out) / width_by_duration(held_out), _ENDS_OF_80)
    spread = {name: [known.low[name], known.high[name]] for name in known.low}
    spread["seen"] = [round(min(float(low), 0.0), 3), round(max(float(high), 0.0), 3)]
    return Recalibration(
        text=calibration_document(
            generation,
            {**known.levels, **fit(kernels, start=known.levels)},
            spread,
            sorted({*known.sources, *(kernel.source for kernel in kernels)}),
            made_by="drynpu calibrate",
        ),
        before=_errors(actual, predicted_us(kernels, usual)[had_time], counts),
        after=_errors(actual, held_out, counts),
        left_out=timed.left_out,
    )


def _held_out(kernels: Sequence[Measured], usual: Calibration) -> F64:
    """Return predictions of each half of the kernels with the other half fitted."""
    generation = kernels[0].chip.generation
    known = usual.generations.get(generation, Generation())
    half, predictions = _halves(kernels), np.zeros(len(kernels))
    for part in (0, 1):
        fitted = fit([kernel for kernel, side in zip(kernels, half, strict=True) if side != part], start=known.levels)
        replaced = evolve(known, levels={**known.levels, **fitted})
        calibration = evolve(usual, generations={**usual.generations, generation: replaced})
        rows = np.flatnonzero(half == part)
        predictions[rows] = predicted_us([kernels[row] for row in rows], calibration)
    return predictions


def _halves(kernels: Sequence[Measured]) -> NDArray[np.int64]:
    """Return 0 or 1 for each kernel: the shapes of a type alternate by size, and equal ones are in one half."""
    shapes = [(k.spec.op_type, k.spec.bytes_read + k.spec.bytes_written, repr(k.spec.inputs)) for k in kernels]
    sides: dict[tuple[str, float, str], int] = {}
    for _, group in groupby(sorted(set(shapes)), key=itemgetter(0)):
        sides |= {shape: place % 2 for place, shape in enumerate(group)}
    return np.array([sides[shape] for shape in shapes])


def _errors(actual: F64, predicted: F64, counts: F64) -> Errors:
    off = abs(predicted / actual - 1)
    return Errors(
        kernels=len(actual),
        median=float(np.median(off)),
        within_quarter=float(np.mean(off <= 0.25)),
        total=float((predicted * counts).sum() / (actual * counts).sum() - 1),
    )
