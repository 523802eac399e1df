"""
What moved where in a recording, as flows over the time since the device's tick 0 (ns).

Kernels, copies and transfers move their bytes evenly over their duration; a collective does so from the arrival of its
slowest rank to its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.arrays import I64, Bools
from drynpu.deliverables.record_context import RecordContext
from drynpu.device.collectives import CollectiveRequest, LinkType
from drynpu.device.samplers.links import LinkBytes, link_bytes
from drynpu.device.samplers.traffic import Flow, join_flows, sample_times
from drynpu.kernels import Copy, TaskType
from drynpu.simulate import Simulation


@frozen(eq=False)
class BothDirections:
    """Traffic in both directions: read and written, or received and sent."""

    into: Flow
    out: Flow


@frozen(eq=False, kw_only=True)
class CacheFlows:
    """Requests of the cores to L2, and the requests that missed, in bytes."""

    reads: Flow
    writes: Flow
    read_misses: Flow
    write_misses: Flow


def edges_us(context: RecordContext, interval_us: int) -> I64:
    """Return when a sampler of that interval reads, in whole microseconds after the device's tick 0."""
    simulation = context.simulation
    begin = max(simulation.begin_ns - simulation.base_ns, 0) // 1000
    return sample_times(begin, -(-(simulation.end_ns - simulation.base_ns) // 1000), interval_us)


def _launch_flow(simulation: Simulation, amount: npt.ArrayLike) -> Flow:
    """Return the flow of an amount per kernel (not per launch)."""
    start = simulation.schedule.kernel_start_ticks * simulation.tick_ns
    per_kernel = np.asarray(amount, np.float64)
    kernel = simulation.lowered.launch_kernel
    moved = per_kernel[kernel] if len(kernel) else np.empty(0)
    return Flow(start, start + simulation.kernel_ticks * simulation.tick_ns, moved)


def _engines(simulation: Simulation) -> Bools:
    """Return which kernels run on AI cores, behind L2."""
    return np.asarray((simulation.costs.cube.time_ns > 0) | (simulation.costs.vector.time_ns > 0))


def memory_flows(context: RecordContext) -> BothDirections:
    """
    Return what is read from device memory and written to it.

    Of AI core kernels that is what L2 misses; AI CPU, generator and copies work on memory itself. Collectives read what
    they send and write what they receive; reducing on the way reads the destination as well.
    """
    simulation = context.simulation
    kernels, engine = simulation.lowered.kernels, _engines(simulation)
    from_host = np.array([kernel.copy is Copy.HOST_TO_DEVICE for kernel in kernels], bool)
    to_host = np.array([kernel.copy is Copy.DEVICE_TO_HOST for kernel in kernels], bool)
    read = np.array([kernel.bytes_read for kernel in kernels], np.float64)
    written = np.array([kernel.bytes_written for kernel in kernels], np.float64)
    through = simulation.costs.l2
    reads = np.where(engine, through.read_misses, np.where(from_host, 0, read))
    writes = np.where(engine, through.write_misses, np.where(to_host, 0, written))
    moved = [_sum(by_kind.values()) for by_kind in _collective_bytes(context)]
    into = _collective_flow(context, [volume.sent + volume.local + volume.reduced for volume in moved])
    out = _collective_flow(context, [volume.received + volume.local for volume in moved])
    return BothDirections(
        join_flows([_launch_flow(simulation, reads), into]), join_flows([_launch_flow(simulation, writes), out])
    )


def cache_flows(context: RecordContext) -> CacheFlows:
    """Return the requests of the AI cores to L2, and the part that L2 had to fetch from memory or pass on to it."""
    simulation = context.simulation
    through = simulation.costs.l2
    return CacheFlows(
        reads=_launch_flow(simulation, through.reads),
        writes=_launch_flow(simulation, through.writes),
        read_misses=_launch_flow(simulation, through.read_misses),
        write_misses=_launch_flow(simulation, through.write_misses),
    )


def copy_flows(context: RecordContext) -> BothDirections:
    """Return what copies bring from the host (``into``) and take to it (``out``)."""
    simulation = context.simulation

    def moved(kind: Copy) -> Flow:
        sizes = [
            max(kernel.bytes_read, kernel.bytes_written)
            if kernel.task_type is TaskType.MEMCPY and kernel.copy is kind
            else 0
            for kernel in simulation.lowered.kernels
        ]
        return _launch_flow(simulation, sizes)

    return BothDirections(moved(Copy.HOST_TO_DEVICE), moved(Copy.DEVICE_TO_HOST))


def link_flows(context: RecordContext, types: Iterable[LinkType]) -> BothDirections:
    """Return what this rank receives (``into``) and sends (``out``) over links of these types."""
    wanted = frozenset(types)
    moved = [_sum(part for kind, part in by_kind.items() if kind in wanted) for by_kind in _collective_bytes(context)]
    return BothDirections(
        _collective_flow(context, [volume.received for volume in moved]),
        _collective_flow(context, [volume.sent for volume in moved]),
    )


def _collective_flow(context: RecordContext, per_collective: list[int]) -> Flow:
    times = context.simulation.collectives
    start = (times.start_ticks + times.calls.wait_ticks) * context.simulation.tick_ns
    end = (times.start_ticks + times.calls.ticks) * context.simulation.tick_ns
    return Flow(start, end, per_collective)


def _collective_bytes(context: RecordContext) -> list[Mapping[LinkType, LinkBytes]]:
    """Return the bytes of every collective by link type; each distinct one is worked out once."""
    known: dict[CollectiveRequest, Mapping[LinkType, LinkBytes]] = {}
    rows = []
    for collective in context.simulation.collectives.calls.collectives:
        request = CollectiveRequest(
            kind=collective.kind,
            size_bytes=collective.size_bytes,
            ranks=collective.ranks,
            rank=collective.rank,
            peer=collective.peer,
        )
        if request not in known:
            known[request] = link_bytes(request, context.chip)
        rows.append(known[request])
    return rows


def _sum(parts: Iterable[LinkBytes]) -> LinkBytes:
    return sum(parts, LinkBytes())
