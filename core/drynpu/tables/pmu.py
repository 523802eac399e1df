"""Counters to the columns of op_summary (cann_msprof.md 4.2), for all kernels of a device at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu._errors import OptionError
from drynpu.arrays import F64, I64
from drynpu.kernels import CoreCounters, metric_column_names, metric_columns
from drynpu.platforms import Platform


@frozen(kw_only=True)
class CoreFacts:
    """What the formulas need from info.json and sample.json of a device; clocks in MHz."""

    aic_mhz: int
    aiv_mhz: int
    aic_cores: int
    aiv_cores: int
    aic_events: tuple[int, ...]
    aiv_events: tuple[int, ...]
    platform: Platform
    """Whose formulas and columns apply."""

    @property
    def split(self) -> bool:
        """Whether cube and vector cores are separate (A2, A3, 950)."""
        return self.platform.split

    @property
    def complete(self) -> bool:
        """Whether clocks and core numbers are known, without which cycles are no times."""
        return self.aic_mhz > 0 and self.aic_cores > 0 and (not self.split or (self.aiv_mhz > 0 and self.aiv_cores > 0))


@frozen(eq=False, kw_only=True)
class Measured:
    """
    Counters of kernels: ``cycles`` int64 ``[n, 2]`` and ``pmu`` int64 ``[n, 2, slots]`` (cube half, vector half).

    ``blocks`` is int64 ``[n, 2]``: over how many blocks each half was counted. ``duration_us`` is the task's;
    ``core_us`` (``[n, 2]``) how long each half took, where the records say so.
    """

    cycles: I64
    pmu: I64
    blocks: I64
    duration_us: F64
    core_us: F64 | None = None


def parse_events(text: object, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the event numbers of a comma list such as ``0x8,0xa``; *default* where there is no readable list."""
    try:
        return tuple(int(part, 0) for part in str(text).split(",")) if text else default
    except ValueError:
        return default


def decodable(metrics: str, facts: CoreFacts) -> bool:
    """Return whether a metric group, or a ``Custom:`` list of events, has columns on this device."""
    try:
        metric_column_names(metrics, facts.platform)
    except OptionError:
        return False
    return facts.complete


def counter_columns(metrics: str, measured: Measured, facts: CoreFacts) -> dict[str, npt.NDArray[np.generic]]:
    """
    Return the columns of a metric group in the order of op_summary, which rounds them; the database does not.

    A half that did not run is 0; NaN is ``N/A`` (:func:`drynpu.kernels.metric_columns`).

    Raises
    ------
    OptionError
        The platform of the device has no group *metrics*.
    """
    cube = facts.aic_mhz, facts.aic_cores, facts.aic_events
    if facts.split:
        halves = _half(measured, 0, *cube), _half(measured, 1, facts.aiv_mhz, facts.aiv_cores, facts.aiv_events)
        columns = metric_columns(metrics, *halves, measured.duration_us, facts.platform)
    else:
        # One kind of core runs everything: whichever half a record names, it counted the same core.
        together = Measured(
            cycles=measured.cycles.sum(axis=1, keepdims=True),
            pmu=measured.pmu.sum(axis=1, keepdims=True),
            blocks=measured.blocks.max(axis=1, keepdims=True),
            duration_us=measured.duration_us,
        )
        columns = metric_columns(metrics, _half(together, 0, *cube), None, measured.duration_us, facts.platform)
    return {name: values if values.dtype.kind == "i" else values.astype(np.float64) for name, values in columns.items()}


def _half(measured: Measured, half: int, mhz: int, cores: int, events: tuple[int, ...]) -> CoreCounters:
    return CoreCounters(
        total_cycles=measured.cycles[:, half],
        pmu=measured.pmu[:, half],
        block_num=measured.blocks[:, half],
        mhz=mhz,
        cores=cores,
        events=events[: measured.pmu.shape[2]],
        time_us=None if measured.core_us is None else measured.core_us[:, half],
    )
