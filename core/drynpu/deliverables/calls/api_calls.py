"""Calls into ACL, the node level and the runtime that launch kernels or wait for the device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from drynpu.arrays import I64, Records
from drynpu.deliverables.host_rows import HostRows
from drynpu.device import DispatchKind, LaunchMode
from drynpu.layouts.calls import API_EVENT
from drynpu.options import Level as ProfileLevel
from drynpu.raw import HostLevel, join_records
from drynpu.simulate.launch_calls import asks_workspace, launch_api

# Names as device_and_cost_model.md 3.6 and genuine api_statistic files spell them.
_LAUNCH = "KernelLaunchWithHandle"
_COPY = "MemcpyAsync"
_WORKSPACE = "GetWorkspaceSize"
_SYNCHRONIZATIONS: Mapping[DispatchKind, tuple[str, str]] = {
    DispatchKind.WAIT_STREAM: ("aclrtSynchronizeStreamWithTimeout", "StreamSynchronize"),
    DispatchKind.WAIT_DEVICE: ("aclrtSynchronizeDeviceWithTimeout", "DeviceSynchronize"),
    DispatchKind.SYNCHRONIZE_EVENT: ("aclrtSynchronizeEventWithTimeout", "EventSynchronize"),
}
"""What waits for the device -> its name at the acl and at the runtime level."""


def api_events(host: HostRows) -> Records:
    """
    Return the calls in time order, an enclosing call before what it encloses.

    Calls into ACL and into the runtime are there if they are asked for; those that launch come with the tasks, too.
    """
    events = join_records(API_EVENT, [*_calls(host), *_launches(host), *_synchronizations(host), *_scripted(host)])
    of_acl, of_runtime = (events["level"] == int(level) for level in (HostLevel.ACL, HostLevel.RUNTIME))
    with_tasks = ~of_acl & (host.level > ProfileLevel.NONE)
    events = events[(of_acl & host.acl) | (of_runtime & host.runtime) | with_tasks]
    return np.asarray(events[np.lexsort((-events["end"].astype(np.int64), events["begin"]))])


def _events(
    host: HostRows,
    level: HostLevel,
    kind: npt.ArrayLike,
    thread: npt.ArrayLike,
    begin: I64,
    end: I64,
    item: npt.ArrayLike = 0,
) -> Records:
    rows = API_EVENT.new(len(begin))
    rows["level"], rows["type"] = int(level), kind
    rows["thread_id"], rows["item_id"] = thread, item
    rows["begin"], rows["end"] = begin + host.to_raw_ns, end + host.to_raw_ns
    return rows


def _calls(host: HostRows) -> list[Records]:
    """
    ACL calls: what asks for the workspace, by default on the calling thread, and what launches.

    What the graph engine launches as a part of a graph has no such call.
    """
    s, lowered, rows = host.simulation.schedule, host.simulation.lowered, host.simulation.rows
    launching = np.zeros(max(len(lowered.plans), 1), np.int64)
    alone = np.array([not plan.in_graph for plan in lowered.plans] or [True])[lowered.dispatch_plan]
    asking = np.zeros_like(launching)
    for index in np.unique(lowered.dispatch_plan[alone]).tolist():
        plan = lowered.plans[index]
        launching[index] = host.types.api(HostLevel.ACL, launch_api(plan))
        if asks_workspace(plan):
            asking[index] = host.types.api(HostLevel.ACL, launch_api(plan) + _WORKSPACE)
    asks = np.flatnonzero(asking[lowered.dispatch_plan])
    launched_by = host.dispatch_threads
    with_launch = host.simulation.launch_mode is LaunchMode.QUEUE_WITH_WORKSPACE
    asked_by = launched_by if with_launch else host.operators.thread[lowered.dispatch_op]
    return [
        _events(
            host,
            HostLevel.ACL,
            asking[lowered.dispatch_plan[asks]],
            asked_by[asks],
            s.workspace_start_ns[rows[asks]],
            s.workspace_end_ns[rows[asks]],
        ),
        _events(
            host,
            HostLevel.ACL,
            launching[lowered.dispatch_plan[alone]],
            launched_by[alone],
            s.api_start_ns[rows[alone]],
            s.api_end_ns[rows[alone]],
        ),
    ]


def _launches(host: HostRows) -> list[Records]:
    """Node and runtime calls inside the launching ACL calls; a copy is a runtime call alone."""
    s = host.launches
    copy = host.is_copy[s.launch]
    launch = np.flatnonzero(~copy)
    names = host.text_ids(lambda kernel: kernel.name)[host.simulation.lowered.launch_kernel[s.launch[launch]]]
    copy_type = host.types.api(HostLevel.RUNTIME, _COPY) if copy.any() else 0
    launch_type = host.types.api(HostLevel.RUNTIME, _LAUNCH) if len(launch) else 0
    node_type = host.types.api(HostLevel.NODE, "launch") if len(launch) else 0
    kinds = np.where(copy, copy_type, launch_type)
    return [
        _events(
            host, HostLevel.NODE, node_type, s.thread[launch], s.node_start_ns[launch], s.node_end_ns[launch], names
        ),
        _events(host, HostLevel.RUNTIME, kinds, s.thread, s.runtime_start_ns, s.runtime_end_ns),
    ]


def _synchronizations(host: HostRows) -> list[Records]:
    """Calls that wait for the device: the wait itself, on the calling thread."""
    s, d, mode = host.simulation.schedule, host.simulation.dispatches, host.simulation.launch_mode
    handed_over = s.enqueue_end_ns if mode.queued else s.api_end_ns
    records: list[Records] = []
    for mark, (acl, runtime) in _SYNCHRONIZATIONS.items():
        waits = d.kind == mark
        if mode is LaunchMode.CALLER_WAITS and mark is DispatchKind.WAIT_STREAM:
            waits = waits | (d.launches > 0) & (d.kind == DispatchKind.LAUNCH)
        rows = np.flatnonzero(waits)
        if not len(rows):
            continue
        begin = np.where(d.launches[rows] > 0, handed_over[rows], s.start_ns[rows])
        end = np.maximum(s.end_ns[rows], begin)
        if host.calls is None:
            records.append(_events(host, HostLevel.ACL, host.types.api(HostLevel.ACL, acl), d.thread[rows], begin, end))
        if host.runtime:
            kind = host.types.api(HostLevel.RUNTIME, runtime)
            records.append(_events(host, HostLevel.RUNTIME, kind, d.thread[rows], begin, end))
    return records


def _scripted(host: HostRows) -> list[Records]:
    """Return the calls that the script itself made."""
    calls = host.calls
    if calls is None or not len(calls):
        return []
    kinds = np.array([host.types.api(HostLevel.ACL, name) for name in calls.names], np.int64)
    time_map = host.simulation.time_map
    begin = time_map(calls.start_ns)
    return [
        _events(host, HostLevel.ACL, kinds[calls.name], calls.thread, begin, np.maximum(time_map(calls.end_ns), begin))
    ]
