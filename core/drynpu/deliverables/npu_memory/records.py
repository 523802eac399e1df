"""Samples of the device memory in use: what the allocator of the recording has reserved."""

from __future__ import annotations

import numpy as np

from drynpu.deliverables.npu_memory import facts
from drynpu.deliverables.record_context import GroupRecords, RecordContext
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
    # On the grid of the device's counter, from its first tick in the recording to its last.
    begin, after = anchors.unix_to_tick([simulation.begin_ns, simulation.end_ns + 1]).tolist()
    ticks = np.arange(begin, after, max(1, anchors.device_hz // rate_hz))
    reached = np.searchsorted(simulation.time_map(memory.time_ns), anchors.tick_to_unix(ticks), side="right")
    reserved = np.concatenate([[memory.reserved_before_bytes], memory.reserved_bytes])[reached]
    total = facts.NPU_MEM.new(len(ticks))
    total["hbm_bytes"], total["tick"] = reserved, ticks
    module = facts.NPU_MODULE_MEM.new(len(ticks))
    module["module_id"], module["tick"], module["reserved_bytes"] = _APP_MODULE, ticks, reserved
    return GroupRecords(device={"npu_mem": total, "npu_module_mem": module})
