"""Stage 5, memory: which allocations of a recording live on the device, and what they add up to."""

from __future__ import annotations

import attrs
from attrs import frozen

from drynpu.device import CACHING_POOL, DeviceMemory, MemoryPool, account, innermost, pair
from drynpu.simulate._lower import launching_operator
from drynpu.simulate._schedule import ScheduledWork


@frozen(eq=False, kw_only=True)
class Simulation(ScheduledWork):
    """A recording with everything that the simulated device adds; the value of the last stage."""

    memory: DeviceMemory
    """Device memory; its times are measured ones, to be mapped by ``time_map``."""


def add_memory(scheduled: ScheduledWork, pool: MemoryPool = CACHING_POOL) -> Simulation:
    """
    Account for what lives on the device in the framework's *pool*, times as measured.

    Left out are host tensors, what was allocated outside of operators, and the scratch of the CPU's own
    implementation: memory that is taken and given back inside one launching operator. A release counts where its
    allocation does; one of memory from before the recording does not, because nothing tells where that was.
    """
    lowered, recording = scheduled.lowered, scheduled.lowered.recording
    operators, allocations = recording.operators, recording.allocations
    time, thread, size = allocations.time_ns, allocations.thread, allocations.size_bytes
    owner = innermost(time, thread, operators.start_ns, operators.end_ns, operators.thread, lowered.parent)
    allocated = (size > 0) & (owner >= 0)
    allocated[allocated] = lowered.device_memory[owner[allocated]]
    partner = pair(allocations.address, size)
    dispatch = launching_operator(owner, lowered)
    scratch = (partner >= 0) & (dispatch >= 0) & (dispatch == dispatch[partner])
    kept = allocated & ~scratch
    keep = kept | ((partner >= 0) & (size < 0) & kept[partner])
    memory = account(
        time[keep],
        thread[keep],
        allocations.address[keep],
        size[keep],
        live_before_bytes=recording.live_before_bytes,
        pool=pool,
    )
    return Simulation(**attrs.asdict(scheduled, recurse=False), memory=memory)
