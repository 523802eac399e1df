"""Samples of the device memory in use: what the allocator of the recording has reserved."""

from __future__ import annotations

import numpy as np

from drynpu.deliverables._sample_times import US_NS, sampled_unix_ns, sampled_us
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.units import US_PER_S
from drynpu.layouts import npu_memory as facts
from drynpu.options import Level

_APP_MODULE = next(number for number, name in facts.MODULE_NAMES.items() if name == "APP")
"""What the process asked for."""
_PROFILE_MEMORY_HZ = 50
"""Rate of the samples under profile_memory where nothing else asks for one (torch_npu_profiler.md 1.6)."""


def build(context: RecordContext) -> GroupRecords:
    """Sample what the allocator has reserved; nothing else of the device's memory is known, so nothing is added."""
    simulation, request, anchors = context.simulation, context.request, context.anchors
    rate_hz = request.sampling.hardware_memory_hz or (_PROFILE_MEMORY_HZ if request.switches.profile_memory else None)
    if request.level is Level.NONE or rate_hz is None:
        return GroupRecords()
    memory = simulation.memory
    # On the grid of whole microseconds, from the first in the recording to the last.
    first, last = sampled_us(anchors, [simulation.begin_ns + US_NS - 1, simulation.end_ns]).tolist()
    times = np.arange(first, last + 1, US_PER_S // rate_hz)
    time_ns = sampled_unix_ns(anchors, times)
    reached = np.searchsorted(simulation.time_map(memory.time_ns), time_ns, side="right")
    reserved = np.concatenate([[memory.reserved_before_bytes], memory.reserved_bytes])[reached]
    total = facts.NPU_MEM.new(len(times))
    total["hbm_bytes"], total["time_us"] = reserved, times
    module = facts.NPU_MODULE_MEM.new(len(times))
    module["module_id"], module["reserved_bytes"] = _APP_MODULE, reserved
    module["host_time"] = anchors.unix_to_host(time_ns)
    return GroupRecords(device={"npu_mem": total, "npu_module_mem": module})
