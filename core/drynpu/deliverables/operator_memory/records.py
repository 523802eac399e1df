"""Memory of operators as the toolkit reports it (component GE)."""

from __future__ import annotations

import numpy as np

from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.device import innermost
from drynpu.layouts import operator_memory as facts
from drynpu.options import Level


def build(context: RecordContext) -> GroupRecords:
    """
    Return task_memory_info: every device allocation and release, under the operator that allocated.

    Sizes and times come from the simulation's memory; a release of memory that was taken before the recording has no
    operator. Where the framework reports its allocator itself (``profile_memory``) the memory is its own and nothing is
    reported twice.
    """
    switches, memory = context.request.switches, context.simulation.memory
    if not switches.task_memory or switches.profile_memory or context.request.level is Level.NONE:
        return GroupRecords()
    operators, simulation = context.recording.operators, context.simulation
    owner = innermost(
        memory.time_ns,
        memory.thread,
        operators.start_ns,
        operators.end_ns,
        operators.thread,
        simulation.lowered.parent,
    )
    release = memory.size_bytes < 0
    owner = np.where(release, np.where(memory.partner >= 0, owner[np.maximum(memory.partner, 0)], -1), owner)
    ids = context.texts.ids(operators.names) if operators.names else np.zeros(1, np.uint64)
    rows = facts.TASK_MEMORY_INFO.new(len(memory.time_ns))
    rows["thread_id"], rows["timestamp"] = memory.thread, simulation.time_map(memory.time_ns) + context.to_raw_ns
    rows["address"], rows["size_bytes"] = memory.address, memory.size_bytes
    rows["node_id"] = np.where(owner >= 0, ids[operators.name[np.maximum(owner, 0)]], np.uint64(0)) if len(rows) else 0
    rows["total_allocated_bytes"] = memory.allocated_bytes
    rows["total_reserved_bytes"] = memory.reserved_bytes
    rows["device_id"], rows["device_type"] = context.destination.device_id, facts.NPU_DEVICE_TYPE
    return GroupRecords(host={"task_memory_info": rows})
