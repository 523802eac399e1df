"""Which allocations of a recording live on the device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from drynpu.device import CACHING_POOL, MemoryPool, MemoryTimeline, account, innermost, pair
from drynpu.kernels import Allocations, Operators
from drynpu.simulate._lower import Lowered

__all__ = ["device_memory"]

I64 = npt.NDArray[np.int64]


def device_memory(
    operators: Operators,
    allocations: Allocations,
    lowered: Lowered,
    live_before_bytes: int,
    pool: MemoryPool = CACHING_POOL,
) -> MemoryTimeline:
    """
    Account for what lives on the device in the framework's *pool*, times as measured.

    Left out are host tensors, what was allocated outside of operators, and the scratch of the CPU's own
    implementation: memory that is taken and given back inside one launching operator. A release counts where its
    allocation does; one of memory from before the recording does not, because nothing tells where that was.
    """
    time, thread, size = allocations.time_ns, allocations.thread, allocations.size_bytes
    owner = innermost(time, thread, operators.start_ns, operators.end_ns, operators.thread, lowered.parent)
    allocated = (size > 0) & (owner >= 0)
    allocated[allocated] = lowered.device_memory[owner[allocated]]
    partner = pair(allocations.address, size)
    dispatch = _dispatch_of(owner, lowered)
    scratch = (partner >= 0) & (dispatch >= 0) & (dispatch == dispatch[partner])
    kept = allocated & ~scratch
    keep = kept | ((partner >= 0) & (size < 0) & kept[partner])
    return account(
        time[keep],
        thread[keep],
        allocations.address[keep],
        size[keep],
        live_before_bytes=live_before_bytes,
        pool=pool,
    )


def _dispatch_of(row: I64, lowered: Lowered) -> I64:
    """Return the launching operator that encloses (or is) each operator row, -1 if none."""
    dispatching = np.zeros(max(len(lowered.parent), 1), bool)
    dispatching[lowered.dispatch_op] = True
    found = row.copy()
    while True:
        climb = np.flatnonzero((found >= 0) & ~dispatching[found])
        if not len(climb):
            return found
        found[climb] = lowered.parent[found[climb]]
