"""How sure modelled times are: of all kernels, and of steps."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl

from drynpu._errors import ChipError
from drynpu.kernels import Tuning, family_of
from drynpu.platforms import load_chip

HOST_ERROR = 1 / 3
"""
How far off the host's time may be, as a share of it, four times out of five. Modelled intervals between launches were
33 % off in the median of four genuine threads, their sums by less; what Python takes is assumed: docs/device-model.md.
"""


def step_intervals_us(
    steps: pl.DataFrame, kernel_interval_us: tuple[float, float], kernel_us: float
) -> tuple[tuple[float, float], ...]:
    """
    Return the interval in us that holds the time of each step four times out of five.

    Kernels are off as the total of all kernels is, free time by `HOST_ERROR`, independently of each other. For
    communication no error is known; it stays.

    Parameters
    ----------
    steps:
        Rows of ``step_trace``.
    kernel_interval_us, kernel_us:
        Total time of all kernels and what `total_interval_us` says of it.
    """
    computing, free = steps["computing_us"].to_numpy(), steps["free_us"].to_numpy()
    total = computing + steps["communication_not_overlapped_us"].to_numpy() + free
    low, high = (computing * abs(end / kernel_us - 1) if kernel_us else 0 * computing for end in kernel_interval_us)
    ends = (total - np.hypot(low, free * HOST_ERROR), total + np.hypot(high, free * HOST_ERROR))
    return tuple(zip(*(end.tolist() for end in ends), strict=True))


def total_interval_us(times_us: Iterable[tuple[str, float]], chip: str) -> tuple[float, float] | None:
    """
    Return the interval in us that holds the total time of kernels four times out of five; None for an unknown chip.

    What is wrong for one kernel of a family is wrong for all of them alike, so within a family the distances from the
    prediction add up; errors of different families are independent, and their squares add up.

    Parameters
    ----------
    times_us:
        Type and predicted total of kernels.
    chip:
        Name of the chip that they were predicted for.
    """
    try:
        generation = load_chip(chip).generation
    except ChipError:
        return None
    calibration = Tuning().calibration
    total = 0.0
    below: dict[str, float] = {}
    above: dict[str, float] = {}
    for op_type, us in times_us:
        family = family_of(op_type).name
        low, high = calibration.interval(op_type, generation)
        total += us
        below[family] = below.get(family, 0.0) + us * (1 - low)
        above[family] = above.get(family, 0.0) + us * (high - 1)
    return total - math.hypot(*below.values()), total + math.hypot(*above.values())
