"""
Performance counters of kernels, read off their physical account.

An event counts the same thing in whatever metric group it appears; a group is a choice of events in a fixed order
(cann_msprof.md 1.8), which is also the order of the counters in a record (7.4). What a count stands for follows
from the formula that the parser applies to it (4.2), so that the columns give back what the account says.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu._errors import OptionError
from drynpu.arrays import I64
from drynpu.kernels._counter_groups import counter_group, custom_events
from drynpu.kernels._counting import Counts
from drynpu.kernels._events import counter_events
from drynpu.kernels._table import CostTable
from drynpu.platforms import Chip


@frozen(eq=False, kw_only=True)
class CounterValues:
    """
    What the counters of each launch hold, rows in the order of the table.

    ``*_total_cycles`` have shape ``[m]``, ``*_pmu`` shape ``[m, slots]`` with unused slots 0; summed over
    blocks. Unified chips have only the ``aic`` side.
    """

    aic_total_cycles: I64
    aic_pmu: I64
    aiv_total_cycles: I64
    aiv_pmu: I64


def event_codes(metrics: str, chip: Chip) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """
    Return the event codes of the cube (or unified) and of the vector core, in record order.

    Parameters
    ----------
    metrics:
        Name of the group as in sample.json, or ``Custom:`` and a list of events such as ``Custom:0x49,0x4a``.

    Raises
    ------
    OptionError
        The chip has no such group, or there is no account of what it counts: the account knows the events of the
        chip's groups and their sums, and any other count would be an invention. No 310B is modelled at all.
    """
    platform = chip.platform
    group = counter_group(metrics, platform)
    if not platform.counters.modelled:
        raise OptionError([f"aic_metrics: the counters of {platform.label} can be read, but are not modelled."])
    known = counter_events(platform)
    unknown = [code for code in custom_events(metrics) if code not in known.cube and code not in known.vector]
    if unknown:
        problem = f"aic_metrics: event(s) {_hex(unknown)} of {metrics!r} are not modelled on {platform.label}"
        raise OptionError([f"{problem}; available: {_hex(sorted(known.cube.keys() | known.vector.keys()))}."])
    return group.cube_events, group.vector_events


def counter_values(costs: CostTable, metrics: str) -> CounterValues:
    """
    Return the counters of every row of *costs* for one metric group.

    A pipe event is the pipe's busy time in cycles over all blocks, so that ratio = event / total cycles
    (cann_msprof.md 4.2); a bandwidth register counts the bytes of the account in the units of its formula.

    Raises
    ------
    OptionError
        See :func:`event_codes`.
    """
    cube, vector = event_codes(metrics, costs.chip)
    known, slots = counter_events(costs.chip.platform), costs.chip.platform.counters.slots
    return CounterValues(
        aic_total_cycles=costs.aic_cycles,
        aic_pmu=_stack(costs, cube, known.cube, slots),
        aiv_total_cycles=costs.aiv_cycles,
        aiv_pmu=_stack(costs, vector, known.vector, slots),
    )


def _stack(costs: CostTable, codes: tuple[int, ...], counts: Counts, slots: int) -> I64:
    stacked = np.zeros((len(costs), slots), np.int64)
    for slot, code in enumerate(codes):
        # A core without the unit counts nothing: the vector core has no cube, so no mac and no mte1.
        if code in counts:
            stacked[:, slot] = np.rint(counts[code](costs))
    return stacked


def _hex(codes: list[int]) -> str:
    return ", ".join(f"{code:#x}" for code in codes)
