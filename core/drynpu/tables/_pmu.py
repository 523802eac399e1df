"""Counters to the columns of op_summary (cann_msprof.md 4.2), for all kernels of a device at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu.kernels import CoreCounters, metric_column_names, metric_columns, platform_family
from drynpu.options.profiling_options import ChipFamily
from drynpu.tables._columns import I64

__all__ = [
    "CUBE_EVENTS",
    "PIPE_EVENTS",
    "CoreFacts",
    "Measured",
    "counter_columns",
    "decodable",
    "parse_events",
    "pipe_utilization",
]

PIPE_EVENTS = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
CUBE_EVENTS = (0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55)
"""PipeUtilization where sample.json does not list its events: in general, and of the cube core on A2/A3 (1.8)."""

_DECIMALS = 3


@frozen(kw_only=True)
class CoreFacts:
    """What the formulas need from info.json and sample.json of a device; clocks in MHz."""

    aic_mhz: int
    aiv_mhz: int
    aic_cores: int
    aiv_cores: int
    split: bool
    """Whether cube and vector cores are separate (A2, A3, 950)."""
    aic_events: tuple[int, ...]
    aiv_events: tuple[int, ...]
    family: ChipFamily = field()
    """Whose formulas and columns apply; by ``split`` alone A2/A3 or the 910."""

    @family.default
    def _family_by_split(self) -> ChipFamily:
        return platform_family("", split=self.split)

    @property
    def complete(self) -> bool:
        """Whether clocks and core numbers are known, without which cycles are no times."""
        return self.aic_mhz > 0 and self.aic_cores > 0 and (not self.split or (self.aiv_mhz > 0 and self.aiv_cores > 0))


@frozen(eq=False, kw_only=True)
class Measured:
    """
    Counters of kernels: ``cycles`` int64 ``[n, 2]`` and ``pmu`` int64 ``[n, 2, 8]`` (cube half, vector half).

    ``blocks`` is int64 ``[n, 2]``: over how many blocks each half was counted. ``duration_us`` is the task's.
    """

    cycles: I64
    pmu: I64
    blocks: I64
    duration_us: npt.NDArray[np.float64]


def parse_events(text: object, default: tuple[int, ...]) -> tuple[int, ...]:
    """Return the event numbers of a comma list such as ``0x8,0xa``; *default* where there is no readable list."""
    try:
        return tuple(int(part, 0) for part in str(text).split(",")) if text else default
    except ValueError:
        return default


def decodable(metrics: str, facts: CoreFacts) -> bool:
    """Return whether a metric group, or a ``Custom:`` list of events, has columns on this device."""
    try:
        metric_column_names(metrics, facts.family)
    except OptionError:
        return False
    return facts.complete


def pipe_utilization(measured: Measured, facts: CoreFacts) -> dict[str, npt.NDArray[np.generic]]:
    """Return the PipeUtilization columns; see :func:`counter_columns`."""
    return counter_columns("PipeUtilization", measured, facts)


def counter_columns(metrics: str, measured: Measured, facts: CoreFacts) -> dict[str, npt.NDArray[np.generic]]:
    """
    Return the columns of a metric group in the order of op_summary, everything but cycles with three decimals.

    A half that did not run is 0; NaN is ``N/A`` (:func:`drynpu.kernels.metric_columns`).

    Raises
    ------
    OptionError
        The family of the device has no group *metrics*.
    """
    slots = measured.pmu.shape[2]

    def core(cycles: I64, pmu: I64, blocks: I64, mhz: int, cores: int, events: tuple[int, ...]) -> CoreCounters:
        return CoreCounters(total_cycles=cycles, pmu=pmu, block_num=blocks, mhz=mhz, cores=cores, events=events[:slots])

    if facts.split:
        halves = [(measured.cycles[:, half], measured.pmu[:, half], measured.blocks[:, half]) for half in (0, 1)]
        cube = core(*halves[0], facts.aic_mhz, facts.aic_cores, facts.aic_events)
        vector = core(*halves[1], facts.aiv_mhz, facts.aiv_cores, facts.aiv_events)
        columns = metric_columns(metrics, cube, vector, measured.duration_us, facts.family)
    else:
        # One kind of core runs everything: whichever half a record names, it counted the same core.
        sums = measured.cycles.sum(axis=1), measured.pmu.sum(axis=1), measured.blocks.max(axis=1)
        only = core(*sums, facts.aic_mhz, facts.aic_cores, facts.aic_events)
        columns = metric_columns(metrics, only, None, measured.duration_us, facts.family)
    return {n: v if v.dtype.kind == "i" else np.round(v.astype(np.float64), _DECIMALS) for n, v in columns.items()}
