"""What the host launched: kernels and copies one by one, nodes of loaded graphs once, however often they ran."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, U16, Bools
from drynpu.deliverables.tasks.task_forms import task_ids
from drynpu.device import HostCosts
from drynpu.raw import LAST_TASK_ID
from drynpu.simulate import Simulation


@frozen(eq=False, kw_only=True)
class TaskIds:
    """
    The ids of tasks of the operators of a recording.

    ``launch`` (``[h]``) is the row of each launch that the host issues: first the nodes of loaded graphs, by their
    first execution, then the others; ``row`` (``[m]``) is which of these each task is an execution of. ``stream``,
    ``task_id`` and ``batch_id`` (``[h]``) are the ids.
    """

    launch: I64
    row: I64
    nodes: int
    stream: I64
    task_id: U16
    batch_id: U16

    @property
    def executed(self) -> tuple[I64, U16, U16]:
        """Stream, task and batch id of each task, ``[m]``: all executions of a node have the same."""
        return self.stream[self.row], self.task_id[self.row], self.batch_id[self.row]


def number_tasks(simulation: Simulation) -> TaskIds:
    """Return the ids of tasks: nodes of loaded graphs come before later launches."""
    nodes = simulation.loads.nodes.kernels
    alone, count = np.flatnonzero(nodes.node < 0), len(nodes.first)
    launch = np.concatenate([nodes.first, alone])
    row = nodes.node.copy()
    row[alone] = count + np.arange(len(alone))
    platform = simulation.costs.chip.platform
    stream = simulation.stream[launch]
    if count and not platform.tasks.wide_ids:
        stream[:count] = _node_streams(simulation, stream, count)
    task_id, batch_id = task_ids(stream, platform)
    return TaskIds(launch=launch, row=row, nodes=count, stream=stream, task_id=task_id, batch_id=batch_id)


def _node_streams(simulation: Simulation, stream: I64, count: int) -> I64:
    """
    Return the streams of the *count* nodes: those that they run on, where all ids of these are different.

    Where ids come round again, a node has a stream of its graph: what ran again in another batch of ids belongs to no
    launch.
    """
    numbers, place, tasks = np.unique(stream, return_inverse=True, return_counts=True)
    shared = tasks[place.reshape(-1)[:count]] > LAST_TASK_ID
    calls = simulation.collectives.calls
    planes = max((plan.planes for plan in calls.plans), default=0)
    free = max(int(numbers.max()), int(calls.stream.max(initial=0)) + planes) + 1
    streams = stream[:count].copy()
    streams[shared] = free + np.arange(int(shared.sum())) // LAST_TASK_ID
    return streams


@frozen(eq=False, kw_only=True)
class HostLaunches:
    """
    The launches of the host, ``[h]``; Unix ns.

    ``launch`` is the row of the kernel in the recording; a node of a loaded graph is there once, launched
    by the thread that loads graphs.
    """

    launch: I64
    is_node: Bools
    thread: I64
    node_start_ns: I64
    node_end_ns: I64
    runtime_start_ns: I64
    runtime_end_ns: I64


def host_launches(simulation: Simulation, ids: TaskIds, thread: I64, loading: int) -> HostLaunches:
    """Return what the host launched, in the order of *ids*; *thread* (``[m]``) launches, *loading* loads graphs."""
    schedule, loads, launch = simulation.schedule, simulation.loads, ids.launch
    is_node = np.arange(len(launch)) < ids.nodes
    launches = HostLaunches(
        launch=launch,
        is_node=is_node,
        thread=np.where(is_node, loading, thread[launch]),
        node_start_ns=schedule.node_start_ns[launch],
        node_end_ns=schedule.node_end_ns[launch],
        runtime_start_ns=schedule.runtime_start_ns[launch],
        runtime_end_ns=schedule.runtime_end_ns[launch],
    )
    if ids.nodes:
        for name, value in loaded_times(loads.node_start_ns, loads.node_ns).items():
            getattr(launches, name)[: ids.nodes] = value
    return launches


def loaded_times(start_ns: I64, length_ns: I64) -> dict[str, I64]:
    """Return when the calls that launch the nodes of a graph begin and end, while it is loaded."""
    host = HostCosts()
    runtime = start_ns + length_ns * (host.node_ns - host.runtime_ns) // (2 * host.node_ns)
    return {
        "node_start_ns": start_ns,
        # A nanosecond before the next one, so that calls that follow each other do not touch.
        "node_end_ns": start_ns + length_ns - 1,
        "runtime_start_ns": runtime,
        "runtime_end_ns": runtime + length_ns * host.runtime_ns // host.node_ns,
    }
