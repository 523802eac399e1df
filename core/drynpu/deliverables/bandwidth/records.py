"""Memory and caches of the device, sampled: HBM or DDR, the last level cache, L2 per task."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Array, Records
from drynpu.deliverables._host_launches import number_tasks
from drynpu.deliverables._requested import requested_deliverables, unmodelled
from drynpu.deliverables._sample_times import sampled_us
from drynpu.deliverables._traffic import BothDirections, cache_flows, edges_us, memory_flows
from drynpu.deliverables.bandwidth import facts
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.units import US_PER_S
from drynpu.device.samplers.cache import encode_cache_events
from drynpu.device.samplers.traffic import Flow, join_flows, whole_counts
from drynpu.kernels import LINE_BYTES, TaskType
from drynpu.options import NOT_SIMULATED, Level, LlcMode
from drynpu.platforms import CacheEvents

_COUNT_LIMIT = 2**32
_REASONS = {
    **NOT_SIMULATED,
    "llc_read_write": "the counters of this mode are not public",
}


def build(context: RecordContext) -> GroupRecords:
    """
    Return the samples of memory bandwidth and of the last level cache, and L2 counters per task.

    HBM counters of all controllers are written as one unit: how many a chip has is not public. Everything is made from
    the bytes that kernels, copies and collectives move; what cannot be is named in ``notes``.
    """
    device: dict[str, Records] = {}
    sample: dict[str, object] = {}
    notes: list[str] = []
    names = requested_deliverables(context, facts.MEMORY_OPTION)
    rate_hz = context.request.sampling.hardware_memory_hz
    missing = set(names)
    if rate_hz is not None and names:
        interval_us = US_PER_S // rate_hz
        edges = edges_us(context, interval_us)
        sample |= {"hardware_mem": "on", "hardware_mem_sampling_interval": interval_us}
        memory = memory_flows(context)
        for name, make in (("hbm", _hbm), ("ddr", _ddr)):
            if name in names:
                device[name] = make(context, memory, edges)
                sample[f"{name}_profiling_events"] = "read,write"
        if "llc_read_write" in names and context.request.sampling.llc in (LlcMode.READ, LlcMode.WRITE):
            device["llc"] = _llc(context, edges)
            missing.discard("llc_read_write")
        notes += _above_peak(context, memory)
    names = requested_deliverables(context, facts.CACHE_OPTION)
    missing |= names
    events = context.chip.platform.memory.l2_events
    if "l2_cache" in names and events is not None and context.request.level is not Level.NONE:
        device["l2_cache"] = _l2_cache(context, events)
        sample |= {"l2CacheTaskProfiling": "on", "l2CacheTaskProfilingEvents": events.text}
    return GroupRecords(device=device, sample=sample, notes=(*unmodelled(missing, _REASONS), *notes))


def _above_peak(context: RecordContext, memory: BothDirections) -> list[str]:
    """Say so where tasks together move more than the memory can: the device model lets streams run side by side."""
    peak = join_flows([memory.into, memory.out]).peak()
    if peak <= context.chip.memory_gbs:
        return []
    note = (
        f"memory bandwidth reaches {peak:.0f} GB/s for a while, above the {context.chip.memory_gbs:g} GB/s of "
        f"{context.chip.name}: work of several streams is not slowed down by sharing the memory"
    )
    return [note]


def _sampled_us(context: RecordContext, edges: I64) -> I64:
    """Return times of a sampler, raw ``time_us``."""
    return sampled_us(context.anchors, context.simulation.base_ns + edges * 1000)


def _gains(flow: Flow, edges: I64, unit: float) -> I64:
    """Return what a counter gained before each reading; nothing before the first."""
    return np.concatenate([[0], whole_counts(flow.by(edges * 1000), unit)])


def _hbm(context: RecordContext, memory: BothDirections, edges: I64) -> Records:
    """Deal the traffic out evenly to the stacks: a reader takes the time since the sample eight records before."""
    counts = np.stack([_gains(flow, edges, facts.HBM_BYTES) for flow in (memory.into, memory.out)], 1)
    stacks = np.arange(facts.HBM_STACKS)
    shares = counts[..., None] // len(stacks) + (stacks < counts[..., None] % len(stacks))
    rows = facts.HBM.new(shares.size)
    rows["time_us"] = np.repeat(_sampled_us(context, edges), 2 * len(stacks))
    rows["event"] = np.tile(np.repeat([facts.READ, facts.WRITE], len(stacks)), len(edges))
    rows["hbm_id"] = np.tile(stacks, 2 * len(edges))
    rows["count"] = shares.reshape(-1)
    return rows


def _ddr(context: RecordContext, memory: BothDirections, edges: I64) -> Records:
    """Write the sum of all masters; readers add up controllers, so a count that is too large goes to several."""
    unit = context.chip.platform.memory.ddr_bytes
    counts = np.stack([_gains(memory.into, edges, unit), _gains(memory.out, edges, unit)], 1)
    controllers = int(counts.max(initial=0)) // _COUNT_LIMIT + 1
    number = np.arange(controllers)
    shares = counts[..., None] // controllers + (number < counts[..., None] % controllers)
    rows = facts.DDR.new(shares.size)
    rows["time_us"] = np.repeat(_sampled_us(context, edges), 2 * controllers)
    rows["event"] = np.tile(np.repeat([facts.READ, facts.WRITE], controllers), len(edges))
    rows["ddr_id"] = np.tile(number, 2 * len(edges))
    rows["count"] = shares.reshape(-1)
    rows["master_id"] = facts.ALL_MASTERS
    return rows


def _llc(context: RecordContext, edges: I64) -> Records:
    """Deal requests out evenly to the chip's caches; a hit is a request that need not go to memory."""
    mode = context.request.sampling.llc
    events, units = facts.LLC_MODES[mode.value], context.chip.platform.memory.last_level_caches
    flows = cache_flows(context)
    requested, missed = (
        (flows.writes, flows.write_misses) if mode is LlcMode.WRITE else (flows.reads, flows.read_misses)
    )
    requests = _gains(requested, edges, LINE_BYTES * units)
    counts = {
        events.traffic[0]: _gains(flows.reads, edges, facts.LLC_BYTES * units),
        events.traffic[1]: _gains(flows.writes, edges, facts.LLC_BYTES * units),
        events.first_request: requests,
        events.first_hit: np.maximum(requests - _gains(missed, edges, LINE_BYTES * units), 0),
    }
    table = np.zeros((len(edges), units, len(events.codes)), np.int64)
    for place, code in enumerate(events.codes):
        if code in counts:
            table[:, :, place] = counts[code][:, None]
    rows = facts.LLC.new(table.size)
    rows["time_us"] = np.repeat(_sampled_us(context, edges), units * len(events.codes))
    rows["l3t_id"] = np.tile(np.repeat(np.arange(units), len(events.codes)), len(edges))
    rows["event"] = np.tile(events.codes, len(edges) * units)
    rows["count"] = table.reshape(-1)
    return rows


_TASK_TYPES = {
    TaskType.AI_CORE: 0,
    TaskType.AI_VECTOR_CORE: 1,
    TaskType.MIX_AIC: 0,
    TaskType.MIX_AIV: 1,
}
"""Main engine; no reader looks at it."""


def _l2_cache(context: RecordContext, events: CacheEvents) -> Records:
    """Count per AI core task; noise on times changes none of it."""
    simulation = context.simulation
    costs, launch_kernel = simulation.costs, simulation.lowered.launch_kernel
    types = np.array([_TASK_TYPES.get(kind, -1) for kind in simulation.task_types] or [-1])
    launches = np.flatnonzero(types[launch_kernel] >= 0) if len(launch_kernel) else np.empty(0, np.int64)
    rows = facts.L2_CACHE.new(len(launches))
    if not len(launches):
        return rows

    def lines(total: Array) -> I64:
        return np.asarray(-(-total // LINE_BYTES), np.int64)

    through = costs.l2
    reads, writes = lines(through.reads), lines(through.writes)
    read_misses = np.minimum(lines(through.read_misses), reads)
    write_misses = np.minimum(lines(through.write_misses), writes)
    victims = np.rint((read_misses + write_misses) * costs.work.l2_victim_share).astype(np.int64)
    kernel = launch_kernel[launches]
    rows["task_type"] = types[kernel]
    stream, task_id, _ = number_tasks(simulation).executed
    rows["stream_id"], rows["task_id"] = stream[launches], task_id[launches]
    rows["events"] = encode_cache_events(events, reads, writes, read_misses, write_misses, victims)[kernel]
    ends = simulation.schedule.kernel_start_ticks[launches] + simulation.kernel_ticks[launches]
    return np.asarray(rows[np.argsort(ends, kind="stable")])
