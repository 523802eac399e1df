"""What the host side of a PROF directory is made from, and the API calls in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from drynpu.deliverables.tasks import facts as task_facts
from drynpu.device import Mark
from drynpu.kernels import KernelSpec, Operators, TaskType
from drynpu.options import Level as ProfileLevel
from drynpu.raw import HostLevel
from drynpu.simulate._acl_calls import AclCalls
from drynpu.simulate._launch_calls import asks_workspace, launch_api
from drynpu.simulate._memory import Simulation
from drynpu.simulate._rows import join_records
from drynpu.simulate._texts import MarkIds, TextIds, TypeIds

__all__ = ["HostSide", "api_events"]

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

# Names as device_and_cost_model.md 3.6 and genuine api_statistic files spell them.
_LAUNCH = "KernelLaunchWithHandle"
_COPY = "MemcpyAsync"
_WORKSPACE = "GetWorkspaceSize"
_SYNCHRONIZATIONS: Mapping[Mark, tuple[str, str]] = {
    Mark.WAIT_STREAM: ("aclrtSynchronizeStreamWithTimeout", "StreamSynchronize"),
    Mark.WAIT_DEVICE: ("aclrtSynchronizeDeviceWithTimeout", "DeviceSynchronize"),
    Mark.SYNCHRONIZE_EVENT: ("aclrtSynchronizeEventWithTimeout", "EventSynchronize"),
}
"""What waits for the device -> its name at the acl and at the runtime level."""


@frozen(eq=False, kw_only=True)
class HostSide:
    """
    One recording as the host sees it.

    ``launching`` is the id of the thread that launches kernels; ``to_raw_ns`` added to Unix time gives raw host
    time. ``acl`` tells whether calls into ACL are recorded, ``runtime`` whether all those into the runtime are.
    ``calls`` are those that the script itself made into ACL, on the measured timeline.
    ``texts``, ``types`` and ``mark_ids`` collect what the records refer to.
    """

    simulation: Simulation
    operators: Operators
    level: ProfileLevel
    launching: int
    device_id: int
    to_raw_ns: int
    acl: bool = True
    runtime: bool = False
    calls: AclCalls | None = None
    texts: TextIds = field(factory=TextIds)
    types: TypeIds = field(factory=TypeIds)
    mark_ids: MarkIds = field(factory=MarkIds)

    def of_kernels(self, value: Callable[[KernelSpec], int]) -> I64:
        """Return a number for every launch, int64 ``[m]``."""
        table = np.array([value(kernel) for kernel in self.simulation.lowered.kernels] or [0], np.int64)
        return table[self.simulation.lowered.launch_kernel]

    def text_ids(self, text: Callable[[KernelSpec], str]) -> npt.NDArray[np.uint64]:
        """Return the id of a text for every kernel, uint64 ``[k]``; kernels that never ran leave no text."""
        kernels = self.simulation.lowered.kernels
        ids = np.zeros(max(len(kernels), 1), np.uint64)
        used = np.unique(self.simulation.lowered.launch_kernel)
        ids[used] = self.texts.of([text(kernels[index]) for index in used.tolist()])
        return ids

    @property
    def is_copy(self) -> npt.NDArray[np.bool_]:
        """Which launches are copies, which have no operator and no node level; ``[m]``."""
        return np.asarray(self.of_kernels(lambda kernel: kernel.task_type is TaskType.MEMCPY), bool)


def api_events(host: HostSide) -> Records:
    """
    Return the calls in time order, an enclosing call before what it encloses.

    Calls into ACL and into the runtime are there if they are asked for; those that launch come with the tasks, too.
    """
    events = join_records(
        task_facts.API_EVENT, [*_calls(host), *_launches(host), *_synchronizations(host), *_scripted(host)]
    )
    of_acl, of_runtime = (events["level"] == int(level) for level in (HostLevel.ACL, HostLevel.RUNTIME))
    with_tasks = ~of_acl & (host.level > ProfileLevel.NONE)
    events = events[(of_acl & host.acl) | (of_runtime & host.runtime) | with_tasks]
    return np.asarray(events[np.lexsort((-events["end"].astype(np.int64), events["begin"]))])


def _events(
    host: HostSide,
    level: HostLevel,
    kind: npt.ArrayLike,
    thread: npt.ArrayLike,
    begin: I64,
    end: I64,
    item: npt.ArrayLike = 0,
) -> Records:
    rows = task_facts.API_EVENT.new(len(begin))
    rows["level"], rows["type"] = int(level), kind
    rows["thread_id"], rows["item_id"] = thread, item
    rows["begin"], rows["end"] = begin + host.to_raw_ns, end + host.to_raw_ns
    return rows


def _calls(host: HostSide) -> list[Records]:
    """
    ACL calls: what asks for the workspace on the calling thread, what launches on the launching thread.

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
    thread = host.operators.thread[lowered.dispatch_op]
    return [
        _events(
            host,
            HostLevel.ACL,
            asking[lowered.dispatch_plan[asks]],
            thread[asks],
            s.workspace_start_ns[rows[asks]],
            s.enqueue_start_ns[rows[asks]],
        ),
        _events(
            host,
            HostLevel.ACL,
            launching[lowered.dispatch_plan[alone]],
            host.launching,
            s.api_start_ns[rows[alone]],
            s.api_end_ns[rows[alone]],
        ),
    ]


def _launches(host: HostSide) -> list[Records]:
    """Node and runtime calls inside the launching ACL calls; a copy is a runtime call alone."""
    s, copy = host.simulation.schedule, host.is_copy
    launch = np.flatnonzero(~copy)
    names = host.text_ids(lambda kernel: kernel.name)[host.simulation.lowered.launch_kernel[launch]]
    copy_type = host.types.api(HostLevel.RUNTIME, _COPY) if copy.any() else 0
    launch_type = host.types.api(HostLevel.RUNTIME, _LAUNCH) if len(launch) else 0
    node_type = host.types.api(HostLevel.NODE, "launch") if len(launch) else 0
    return [
        _events(host, HostLevel.NODE, node_type, host.launching, s.node_start_ns[launch], s.node_end_ns[launch], names),
        _events(
            host,
            HostLevel.RUNTIME,
            np.where(copy, copy_type, launch_type),
            host.launching,
            s.runtime_start_ns,
            s.runtime_end_ns,
        ),
    ]


def _synchronizations(host: HostSide) -> list[Records]:
    """Calls that wait for the device: the wait itself, on the calling thread."""
    s, d = host.simulation.schedule, host.simulation.dispatches
    found: list[Records] = []
    for mark, (acl, runtime) in _SYNCHRONIZATIONS.items():
        rows = np.flatnonzero(d.kind == mark)
        if not len(rows):
            continue
        begin = np.where(d.launches[rows] > 0, s.enqueue_end_ns[rows], s.start_ns[rows])
        end = np.maximum(s.end_ns[rows], begin)
        if host.calls is None:
            found.append(_events(host, HostLevel.ACL, host.types.api(HostLevel.ACL, acl), d.thread[rows], begin, end))
        if host.runtime:
            kind = host.types.api(HostLevel.RUNTIME, runtime)
            found.append(_events(host, HostLevel.RUNTIME, kind, d.thread[rows], begin, end))
    return found


def _scripted(host: HostSide) -> list[Records]:
    """Return the calls that the script itself made."""
    calls = host.calls
    if calls is None or not len(calls):
        return []
    kinds = np.array([host.types.api(HostLevel.ACL, name) for name in calls.names], np.int64)
    warp = host.simulation.warp
    begin = warp(calls.start_ns)
    return [_events(host, HostLevel.ACL, kinds[calls.name], calls.thread, begin, np.maximum(warp(calls.end_ns), begin))]
