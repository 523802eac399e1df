"""
A recording becomes a simulation, in one straight line of stages.

========  ===================  ===============================================================================
stage     module               what it adds
========  ===================  ===============================================================================
lower     `_lower`             which operators launch which kernels
order     `_order`             one order of everything that the host hands to the device
meet      `_meet`              the plans of collectives, and streams for their groups
schedule  `_schedule`          all times, on the host and on the device
memory    `_memory`            device memory
========  ===================  ===============================================================================

Each stage is a function of the value of the one before it, which it contains; none is returned to.
"""

from __future__ import annotations

from drynpu.device import CACHING_POOL, MemoryPool, QueueState
from drynpu.options import Clock
from drynpu.platforms import Chip
from drynpu.simulate._lower import Planner, lower
from drynpu.simulate._meet import meet
from drynpu.simulate._memory import Simulation, add_memory
from drynpu.simulate._order import order
from drynpu.simulate._recording import Recording
from drynpu.simulate._schedule import schedule


def simulate(
    recording: Recording,
    *,
    plan: Planner,
    chip: Chip,
    clock: Clock,
    seed: int,
    base_ns: int,
    pool: MemoryPool = CACHING_POOL,
    l2_counters: bool = False,
    state: QueueState | None = None,
) -> Simulation:
    """
    Put a recording on the device.

    Parameters
    ----------
    plan:
        Maps an operator call to its kernels.
    seed:
        Decides the jitter of kernel times; the same seed gives the same times.
    base_ns:
        Unix time of the device's tick 0 of this recording; kernels lie on the tick grid after it.
    pool:
        How the framework's allocator grows.
    l2_counters:
        Whether the L2 counters of each kernel are read, for which its stream rests.
    state:
        Where the stretch of the run before this recording left the device, for the same *base_ns*; it is changed.

    Raises
    ------
    OptionError
        A collective cannot be.
    """
    lowered = lower(recording, plan)
    ordered = order(lowered, computing=clock is Clock.WALL)
    planned = meet(ordered, chip)
    scheduled = schedule(
        planned, chip=chip, clock=clock, seed=seed, base_ns=base_ns, l2_counters=l2_counters, state=state
    )
    return add_memory(scheduled, pool)
