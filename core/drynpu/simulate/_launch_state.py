"""What a kernel owes to the kernel before it on its stream: how soon it starts, and whether its code is there."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import F64, I64
from drynpu.kernels import CostTable, KernelSpec, TaskType
from drynpu.platforms import Chip
from drynpu.simulate._lower import LoweredLaunches

_QUEUE_GAP_NS = 20
"""
Between two kernels of which the second waits on the stream already: the median of 519 gaps in static graphs and full
queues of a 910B2, where nine of ten are at most 0.06 us.
"""
_MIXED_GAP_NS = 1100
"""Before and after a kernel that runs on both kinds of cores: 0.7 to 1.3 us in the same graphs (42 gaps)."""
_UNIFIED_GAP_NS = 110
"""On one kind of core: the median reported of loaded graphs, where nine of ten gaps are under 0.18 us."""
_MIXED_TASKS = (TaskType.MIX_AIC, TaskType.MIX_AIV)
_WARM_TASKS = (TaskType.AI_CORE, TaskType.AI_VECTOR_CORE)
_WARM_NS_PER_BLOCK = 60.0
"""
What the second of two equal kernels saves, whose code the instruction caches of its cores still have. On 910B2 a Mul of
24 blocks takes 5.1 and 1.9 us, an InplaceAddRmsNorm of 32 blocks 7.5 and 4.3, a TransData of 32 blocks 17.8 and 13.0, a
Scatter of 43 blocks 6.8 and 4.0, a GatherV2 of 48 blocks 7.5 and 4.0 to 4.9, a product of 24 blocks 10.6 and 8.4.
"""
_MOST_SAVED = 0.5
"""Share of a kernel that its code takes at most."""


def gap_ticks(lowered: LoweredLaunches, stream: I64, chip: Chip) -> I64:
    """Return how long each kernel that waits on its stream starts after the kernel before, ``[m]``."""
    if not chip.split or not len(stream):
        return np.full(len(stream), int(np.ceil(_UNIFIED_GAP_NS / chip.tick_ns)))
    mixed = np.array([each.task_type in _MIXED_TASKS for each in lowered.kernels])[lowered.launch_kernel]
    before = _before(stream)
    gap_ns = np.where(mixed | ((before >= 0) & mixed[before]), _MIXED_GAP_NS, _QUEUE_GAP_NS)
    return np.asarray(np.ceil(gap_ns / chip.tick_ns), np.int64)


def warm_shares(lowered: LoweredLaunches, stream: I64, costs: CostTable, earlier: KernelSpec | None = None) -> F64:
    """
    Return what remains of the time of each launch, ``[m]``: less than 1 right behind an equal kernel.

    *earlier* is the kernel that the stream of the first launch ran last.
    """
    if not costs.chip.split or not len(stream):
        return np.ones(len(stream))
    kinds: dict[object, int] = {}
    kernels = lowered.kernels
    kind = np.array([kinds.setdefault(_kind(each), len(kinds)) for each in kernels])
    warms = np.array([k.task_type in _WARM_TASKS for k in kernels])
    saved = np.minimum(_WARM_NS_PER_BLOCK * costs.block_num, _MOST_SAVED * costs.duration_ns)
    share = np.where(warms & (costs.duration_ns > 0), 1 - saved / np.maximum(costs.duration_ns, 1.0), 1.0)
    launched, before = kind[lowered.launch_kernel], _before(stream)
    previous = np.where(before >= 0, launched[before], -1)
    if earlier is not None:
        previous[0] = kinds.get(_kind(earlier), -1)
    return np.where(launched == previous, share[lowered.launch_kernel], 1.0)


def _kind(kernel: KernelSpec) -> tuple[object, ...]:
    """Return what two kernels that run the same code have in common."""
    return kernel.op_type, kernel.task_type, kernel.inputs, kernel.outputs


def _before(stream: I64) -> I64:
    """Return the launch before each on its stream, ``[m]``; -1 for the first."""
    order, before = np.argsort(stream, kind="stable"), np.full(len(stream), -1, np.int64)
    same = np.diff(stream[order]) == 0
    before[order[1:]] = np.where(same, order[:-1], -1)
    return before
