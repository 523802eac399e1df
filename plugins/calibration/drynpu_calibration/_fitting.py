"""
Coefficients from measured kernels: a robust regression of logarithms, every coefficient shrunk towards the physics.

A coefficient moves the logarithm of a prediction by the share that its part has in the duration: kernels that are all
launch say nothing about the work. Kernels of one type in one source count for less the more there are, so that no
source carries the rest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import Final

import numpy as np
import yaml
from attrs import evolve, frozen

from drynpu.arrays import F64
from drynpu.kernels import (
    CONSTANT_SUFFIX,
    Calibration,
    Coefficient,
    Factors,
    Generation,
    KernelSpec,
    Level,
    Tuning,
    cost,
    family_of,
)
from drynpu.platforms import Chip

_PRIOR: Final = {"generation": (0.1, 0.1), "chip": (0.05, 0.05), "family": (0.1, 0.15), "type": (0.2, 0.35)}
"""How far a coefficient of fixed costs and of work may lie from its parent, one standard deviation of the logarithm."""
_NOISE: Final = 0.27
_HUBER: Final = 1.0
"""Residuals beyond this many standard deviations of the noise count linearly."""
_DRIFT: Final = 0.1
"""What lies between two sets of measurements besides their errors: another device, another version of the software."""
_STEPS: Final = 5
_NUDGE: Final = 0.02


@frozen(kw_only=True)
class Measured:
    """A kernel with its duration; ``weight`` scales what it counts for."""

    spec: KernelSpec
    chip: Chip
    source: str
    duration_us: float
    weight: float = 1.0


def predicted_us(kernels: Sequence[Measured], calibration: Calibration) -> F64:
    """Return what the model says with *calibration*, ``[n]``."""
    tuning = Tuning(calibration=calibration)
    return np.array([cost(k.spec, k.chip, tuning).duration_ns / 1000 for k in kernels])


def fit(
    kernels: Sequence[Measured],
    *,
    prior: Mapping[str, tuple[float, float]] | None = None,
    start: Mapping[str, Level] | None = None,
) -> Mapping[str, Level]:
    """
    Return the levels of a generation that *kernels* of its chips give.

    Parameters
    ----------
    prior:
        Standard deviations of the logarithms for ``generation``, ``chip``, ``family`` and ``type``: fixed costs, work.
    start:
        Levels of other measurements, towards which coefficients are shrunk in place of the physics.
    """
    if not kernels:
        return {}
    prior = prior or _PRIOR
    types = {k.spec.op_type for k in kernels}
    names = [_levels_of(k, types) for k in kernels]
    counts = Counter(name for each in names for name in each)
    order = {name: index for index, name in enumerate(sorted(counts))}
    size = len(order)
    centre, spread = _beliefs(sorted(counts), prior, start or {})
    measured = np.log([k.duration_us for k in kernels])
    crowd = Counter((k.source, k.spec.op_type) for k in kernels)
    weight = np.array([k.weight / crowd[k.source, k.spec.op_type] ** 0.25 for k in kernels])
    rows = np.repeat(np.arange(len(kernels)), [len(each) for each in names])
    columns = np.array([order[name] for each in names for name in each])
    theta, normal = centre.copy(), np.diag(1 / spread**2)
    for _ in range(_STEPS):
        fixed, work = (
            np.bincount(rows, theta[part][columns], len(kernels)) for part in (slice(size), slice(size, None))
        )
        now, by_fixed, by_work = (
            _log_times(kernels, fixed + a, work + b) for a, b in ((0, 0), (_NUDGE, 0), (0, _NUDGE))
        )
        residual = measured - now
        robust = weight * np.minimum(1.0, _HUBER * _NOISE / np.maximum(abs(residual), 1e-9)) / _NOISE**2
        slopes = ((by_fixed - now) / _NUDGE, (by_work - now) / _NUDGE)
        design = np.zeros((len(kernels), 2 * size))
        for part, slope in enumerate(slopes):
            design[rows, part * size + columns] = slope[rows]
        normal = design.T @ (design * robust[:, None]) + np.diag(1 / spread**2)
        step = np.linalg.solve(normal, design.T @ (robust * residual) - (theta - centre) / spread**2)
        theta += np.clip(step, -0.7, 0.7)
    errors = np.sqrt(np.diag(np.linalg.inv(normal)))
    return {
        name: Level(
            fixed=Coefficient(float(theta[at]), float(errors[at]), counts[name]),
            work=Coefficient(float(theta[size + at]), float(errors[size + at]), counts[name]),
        )
        for name, at in order.items()
    }


def _beliefs(
    names: Sequence[str], prior: Mapping[str, tuple[float, float]], start: Mapping[str, Level]
) -> tuple[F64, F64]:
    """Return what coefficients are shrunk towards and how far they may lie from it: fixed costs, then work."""
    centre, spread = np.zeros((2, len(names))), np.array([prior[_kind(name)] for name in names]).T
    for at, name in enumerate(names):
        if name in start:
            for part, known in enumerate((start[name].fixed, start[name].work)):
                centre[part, at] = known.value
                spread[part, at] = min(spread[part, at], math.hypot(known.error, _DRIFT))
    return centre.ravel(), spread.ravel()


def _levels_of(kernel: Measured, types: Set[str]) -> list[str]:
    """Return the levels that a kernel is fitted with. ReduceMeanD, which has constant axes, is fitted as ReduceMean."""
    family, plain = family_of(kernel.spec.op_type).name, kernel.spec.op_type.removesuffix(CONSTANT_SUFFIX)
    named = plain if plain in types else kernel.spec.op_type
    return ["", f"chip/{kernel.chip.name}", family, f"{family}/{named}"]


def _kind(name: str) -> str:
    if name.startswith("chip/"):
        return "chip"
    return "type" if "/" in name else "family" if name else "generation"


def _log_times(kernels: Sequence[Measured], fixed: F64, work: F64) -> F64:
    usual = Tuning(calibration=Calibration(name="none", digest=""))
    return np.log(
        [
            max(cost(k.spec, k.chip, evolve(usual, uniform=Factors(math.exp(f), math.exp(w)))).duration_ns / 1000, 1e-3)
            for k, f, w in zip(kernels, fixed.tolist(), work.tolist(), strict=True)
        ]
    )


def calibration_of(levels: Mapping[str, Mapping[str, Level]]) -> Calibration:
    """Return a calibration without intervals, of the levels of each generation."""
    return Calibration(
        name="fit", digest="", generations={name: Generation(levels=level) for name, level in levels.items()}
    )


def calibration_document(
    generation: str,
    levels: Mapping[str, Level],
    spread: Mapping[str, Sequence[float]],
    sources: Sequence[str],
    *,
    made_by: str,
) -> str:
    """
    Return the calibration file of a generation.

    Parameters
    ----------
    spread:
        Logarithms that the ends of an interval of 80 % add, by support.
    made_by:
        The program that the first line of the file names.
    """
    rows = {
        name: {
            "fixed": [round(level.fixed.value, 3), round(level.fixed.error, 3)],
            "work": [round(level.work.value, 3), round(level.work.error, 3)],
            "rows": level.fixed.rows,
        }
        for name, level in sorted(levels.items())
    }
    head = (
        f"# Made by {made_by}; do not edit. Logarithms of factors on the physics: [value, standard error].\n"
        "# A name is '' (all kernels), chip/NAME, a kernel family, or family/Type; they add up.\n"
    )
    ends = {support: list(pair) for support, pair in spread.items()}
    body = {"generation": generation, "sources": list(sources), "interval": ends, "coefficients": rows}
    return head + yaml.safe_dump(body, default_flow_style=None, width=120, sort_keys=False)
