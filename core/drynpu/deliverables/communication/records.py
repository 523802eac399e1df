"""
Communication operators: API calls, launches, descriptions and device tasks (cann_msprof.md 7.3).

One operator is a node call ``launch`` whose item is the operator (``hcom_allReduce_``). Inside it every task has a
communication call (``master`` on plane 0, else ``slave``) around the runtime call that launched it, where
``hccl_info`` tells what the task is (Ascend/msprof, association/cann/tree_analyzer).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from attrs import asdict, evolve, frozen

from drynpu.arrays import I64, U16, U64, Array, Bools, Records
from drynpu.deliverables._host_launches import loaded_times
from drynpu.deliverables.communication.group_names import group_id
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.tasks.task_forms import TaskRuns, flip_records, task_ids, task_records, with_flips
from drynpu.device.collectives import TaskName
from drynpu.layouts import communication as facts
from drynpu.layouts import tasks as task_facts
from drynpu.layouts.calls import API_EVENT
from drynpu.layouts.schedulers import SqeType
from drynpu.layouts.tasks import GeTaskType
from drynpu.options import Level as ProfileLevel
from drynpu.raw import HostLevel, RecordKind, join_records
from drynpu.simulate import CollectiveTimes

_NONE = 0xFFFF_FFFF
_OPS_MODE = 1
"""Workflow of operators launched one by one (HCCL_WORKFLOW_MODE_OP_BASE)."""
_HCCL_DTYPES: Mapping[str, int] = {
    "INT8": 0,
    "INT16": 1,
    "INT32": 2,
    "FLOAT16": 3,
    "FP16": 3,
    "FLOAT": 4,
    "FP32": 4,
    "INT64": 5,
    "UINT64": 6,
    "UINT8": 7,
    "BOOL": 7,
    "UINT16": 8,
    "UINT32": 9,
    "DOUBLE": 10,
    "FP64": 10,
    "DT_BF16": 11,
    "BFP16": 11,
    "INT128": 12,
}
"""GE and HCCL names to HCCL's numbers (torch_npu_profiler.md 4.16); a type that HCCL lacks is RESERVED."""
_RESERVED_DTYPE = 255

RUNTIME_APIS = {
    TaskName.Memcpy: ("MemcopyAsync", "MEMCPY_ASYNC", SqeType.SDMA),
    TaskName.Reduce_Inline: ("ReduceAsync", "REDUCE_ASYNC", SqeType.SDMA),
    TaskName.Notify_Record: ("NotifyRecord", "NOTIFY_RECORD", SqeType.NOTIFY_RECORD),
    TaskName.Notify_Wait: ("NotifyWait", "NOTIFY_WAIT", SqeType.NOTIFY_WAIT),
    TaskName.RDMASend: ("RDMADBSend", "RDMA_DB_SEND", SqeType.WRITE_VALUE),
}
"""Runtime call, task type and queue entry of each task: a request to the network card is a written doorbell."""


@frozen(eq=False, kw_only=True)
class _Tasks:
    """
    Tasks of all collectives, shape ``[t]``: by collective, plane, start. ``api_*`` is Unix ns.

    All executions of a node of a loaded graph have its ids; ``recorded`` tells which tasks the host launched, the
    node's among them once, while it loaded the graph.
    """

    owner: I64
    column: I64
    """Row in the joined columns of all distinct plans."""
    name: I64
    plane: I64
    stream: I64
    start_ticks: I64
    ticks: I64
    task_id: U16
    batch_id: U16
    api_start_ns: I64
    api_end_ns: I64
    recorded: Bools

    @property
    def launched(self) -> _Tasks:
        """Those that the host launched."""
        columns = asdict(self, recurse=False)
        return _Tasks(**{name: column[self.recorded] for name, column in columns.items()})


def build(context: RecordContext) -> GroupRecords:
    """Return the records of all communication operators; level0 leaves out what describes their tasks."""
    times = context.simulation.collectives
    if context.request.level is ProfileLevel.NONE or not len(times.calls):
        return GroupRecords()
    times = _launch_times(context)
    tasks = _expand(times, context)
    operators, launched = _operator_ids(context), tasks.launched
    recorded = context.simulation.loads.nodes.collectives.is_recorded
    host = {
        "api_event": _apis(context, times, launched, operators),
        "task_track": with_flips(_task_track(context, launched), context.chip.platform, context.types.task),
        "hccl_op_info": _operator_info(context, times)[recorded],
    }
    if context.request.level is not ProfileLevel.L0:
        host["node_basic_info"] = _node_info(context, times, operators)[recorded]
        host["hccl_info"] = _task_info(context, launched)
    runs, platform = _runs(tasks, context.anchors.device_cntvct), context.chip.platform
    device = {**task_records(runs, platform), "ts_track_flip": flip_records(runs, platform)}
    return GroupRecords(host=host, device=device)


def _launch_times(context: RecordContext) -> CollectiveTimes:
    """Return the times of collectives; the first executions of nodes of loaded graphs have the times of the load."""
    times, loads = context.simulation.collectives, context.simulation.loads
    first = loads.nodes.collectives.first
    if not len(first):
        return times
    changed = {}
    for name, value in loaded_times(loads.collective_start_ns, loads.collective_ns).items():
        column = getattr(times, name).copy()
        column[first] = value
        changed[name] = column
    return evolve(times, **changed)


def _threads(context: RecordContext) -> I64:
    """Return the thread that launches each collective: nodes of graphs are launched by the one that loads these."""
    node = context.simulation.loads.nodes.collectives.node
    return np.where(node >= 0, context.loading, context.host.collective_threads)


def _expand(times: CollectiveTimes, context: RecordContext) -> _Tasks:
    """Lay the tasks of the plans on the device: what the peers let wait lengthens and moves them."""
    work = times.calls
    sizes = np.array([len(plan) for plan in work.plans], np.int64)
    first = np.cumsum(sizes) - sizes
    count = sizes[work.plan]
    owner = np.repeat(np.arange(len(work)), count)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    column = first[work.plan[owner]] + position
    wait = work.wait_ticks[owner]
    plane = _joined(times, "plane")[column]
    stream = work.stream[owner] + plane
    nodes, tasks = context.simulation.loads.nodes.collectives, np.cumsum(count) - count
    recorded = nodes.is_recorded[owner]
    task_id, batch_id = _number(context, stream, recorded, nodes.node[owner] < 0)
    if len(nodes.first):
        source = np.where(nodes.node >= 0, nodes.first[np.maximum(nodes.node, 0)], np.arange(len(work)))[owner]
        task_id, batch_id = task_id[tasks[source] + position], batch_id[tasks[source] + position]
    share = (times.runtime_end_ns - times.runtime_start_ns)[owner] // count[owner]
    api = times.runtime_start_ns[owner] + share * position
    return _Tasks(
        owner=owner,
        column=column,
        name=_joined(times, "name")[column],
        plane=plane,
        stream=stream,
        start_ticks=times.start_ticks[owner] + _joined(times, "start")[column] + wait * _joined(times, "after")[column],
        ticks=_joined(times, "length")[column] + wait * _joined(times, "sync")[column],
        task_id=task_id,
        batch_id=batch_id,
        api_start_ns=api,
        api_end_ns=api + share - 1,
        recorded=recorded,
    )


def _number(context: RecordContext, stream: I64, recorded: Bools, alone: Bools) -> tuple[U16, U16]:
    """Return the ids of *recorded* tasks, nodes of graphs before tasks launched *alone*; 0 for others."""
    rows = np.flatnonzero(recorded)
    rows = rows[np.argsort(alone[rows], kind="stable")]
    before = len(context.host.task_ids.launch)
    ids: tuple[U16, U16] = (np.zeros(len(stream), np.uint16), np.zeros(len(stream), np.uint16))
    for column, numbers in zip(ids, task_ids(stream[rows], context.chip.platform, before=before), strict=True):
        column[rows] = numbers
    return ids


def _joined(times: CollectiveTimes, name: str) -> Array:
    """Return one column of all distinct plans, one after the other."""
    return np.concatenate([getattr(plan, name) for plan in times.calls.plans])


def _operator_ids(context: RecordContext) -> U64:
    names = [f"hcom_{collective.kind}_" for collective in context.simulation.collectives.calls.collectives]
    distinct = {name: index for index, name in enumerate(dict.fromkeys(names))}
    return context.texts.ids(list(distinct))[[distinct[name] for name in names]]


def _api_rows(level: HostLevel, kind: npt.ArrayLike, thread: I64, begin_ns: I64, end_ns: I64) -> Records:
    rows = API_EVENT.new(len(begin_ns))
    rows["level"], rows["type"], rows["thread_id"] = int(level), kind, thread
    rows["begin"], rows["end"] = begin_ns, end_ns
    return rows


def _apis(context: RecordContext, times: CollectiveTimes, tasks: _Tasks, operators: U64) -> Records:
    types, nodes = context.types, context.simulation.loads.nodes.collectives
    kinds = np.array([types.api(HostLevel.ACL, f"hcom_{collective.kind}_") for collective in times.calls.collectives])
    thread, shift = _threads(context), context.to_raw_ns
    acl = _api_rows(HostLevel.ACL, kinds, thread, times.api_start_ns + shift, times.api_end_ns + shift)
    launch = types.api(HostLevel.NODE, "launch")
    node = _api_rows(HostLevel.NODE, launch, thread, times.node_start_ns + shift, times.node_end_ns + shift)
    acl["item_id"], node["item_id"] = operators, operators
    # What the graph engine launches as a part of a graph has no call of ACL.
    acl, node = acl[nodes.node < 0], node[nodes.is_recorded]
    planes = np.array([types.api(HostLevel.COMMUNICATION, "slave"), types.api(HostLevel.COMMUNICATION, "master")])
    of_plane = planes[(tasks.plane == 0).astype(np.int64)]
    begin, end, of_task = tasks.api_start_ns + shift, tasks.api_end_ns + shift, thread[tasks.owner]
    inner = _api_rows(HostLevel.COMMUNICATION, of_plane, of_task, begin, end)
    inner["item_id"] = operators[tasks.owner]
    used = {int(name): RUNTIME_APIS[TaskName(name)][0] for name in np.unique(tasks.name)}
    numbers = np.zeros(len(TaskName), np.int64)
    for name, api in used.items():
        numbers[name] = types.api(HostLevel.RUNTIME, api)
    share = (tasks.api_end_ns - tasks.api_start_ns) // 4
    runtime = _api_rows(HostLevel.RUNTIME, numbers[tasks.name], of_task, begin + share, end - share)
    return join_records(API_EVENT, [*([acl] if context.host.acl else []), node, inner, runtime])


def _records(kind: RecordKind, context: RecordContext, time_ns: I64, owner: I64 | slice = slice(None)) -> Records:
    """Return records that the threads make that launch these collectives, one each by default, at Unix times."""
    rows = kind.new(len(time_ns))
    rows["thread_id"] = _threads(context)[owner]
    rows["timestamp"] = time_ns + context.to_raw_ns
    return rows


def _middle(tasks: _Tasks) -> I64:
    return (tasks.api_start_ns + tasks.api_end_ns) // 2


def _task_track(context: RecordContext, tasks: _Tasks) -> Records:
    rows = _records(task_facts.TASK_TRACK, context, _middle(tasks), tasks.owner)
    rows["device_id"], rows["stream_id"] = context.destination.device_id, tasks.stream
    rows["task_id"], rows["batch_id"] = tasks.task_id, tasks.batch_id
    numbers = np.zeros(len(TaskName), np.int64)
    for name in np.unique(tasks.name):
        numbers[name] = context.types.task(RUNTIME_APIS[TaskName(name)][1])
    rows["task_type"] = numbers[tasks.name]
    return rows


def _operator_info(context: RecordContext, times: CollectiveTimes) -> Records:
    works, plans = times.calls.collectives, times.calls.plans
    algorithms = [
        collective.algorithm or plans[at].algorithm
        for collective, at in zip(works, times.calls.plan.tolist(), strict=True)
    ]
    texts = {name: context.texts.ids([name])[0] if name else 0 for name in set(algorithms)}
    rows = _records(facts.HCCL_OP_INFO, context, times.node_end_ns - 1)
    rows["data_type"] = [_HCCL_DTYPES.get(collective.dtype, _RESERVED_DTYPE) for collective in works]
    rows["alg_type"] = [texts[name] for name in algorithms]
    rows["count"] = [collective.count for collective in works]
    rows["group_name"] = _group_ids(context)
    return rows


def _group_ids(context: RecordContext) -> U64:
    groups = [collective.group for collective in context.simulation.collectives.calls.collectives]
    ids = {group: group_id(group) for group in set(groups)}
    return np.array([ids[group] for group in groups], np.uint64)


def _node_info(context: RecordContext, times: CollectiveTimes, operators: U64) -> Records:
    rows = _records(task_facts.NODE_BASIC_INFO, context, times.node_end_ns - 1)
    rows["op_name"], rows["op_type"], rows["task_type"] = operators, operators, int(GeTaskType.HCCL)
    return rows


def _task_info(context: RecordContext, tasks: _Tasks) -> Records:
    times = context.simulation.collectives
    works = times.calls.collectives
    names = context.texts.ids([name.name for name in TaskName])
    local = np.array([collective.ranks.index(collective.rank) for collective in works], np.int64)
    dtypes = np.array([_HCCL_DTYPES.get(collective.dtype, _RESERVED_DTYPE) for collective in works], np.int64)
    reduces = tasks.name == TaskName.Reduce_Inline
    rows = _records(facts.HCCL_INFO, context, _middle(tasks), tasks.owner)
    rows["item_id"], rows["group_name"] = names[tasks.name], _group_ids(context)[tasks.owner]
    rows["local_rank"], rows["remote_rank"] = local[tasks.owner], _joined(times, "peer")[tasks.column]
    rows["rank_size"] = np.array([len(collective.ranks) for collective in works])[tasks.owner]
    rows["work_flow_mode"], rows["plane_id"], rows["context_id"] = _OPS_MODE, tasks.plane, _NONE
    rows["notify_id"] = _joined(times, "notify")[tasks.column]
    rows["stage"], rows["role"] = _NONE, _NONE
    # The estimate is the model's own time, without what the peers let wait.
    rows["duration_estimated_us"] = _joined(times, "length")[tasks.column] * context.chip.tick_ns / 1000
    rows["size_bytes"] = _joined(times, "size_bytes")[tasks.column]
    rows["op_type"] = np.where(reduces, 0, _NONE)
    rows["data_type"] = np.where(reduces, dtypes[tasks.owner], _NONE)
    rows["link_type"] = _joined(times, "link")[tasks.column]
    rows["transport_type"] = _joined(times, "transport")[tasks.column]
    rows["rdma_type"] = _joined(times, "rdma")[tasks.column]
    return rows


def _runs(tasks: _Tasks, device_cntvct: int) -> TaskRuns:
    start = tasks.start_ticks + device_cntvct
    return TaskRuns(
        stream=tasks.stream,
        task_id=tasks.task_id,
        batch_id=tasks.batch_id,
        start=start,
        end=start + tasks.ticks,
        sqe=np.array([int(RUNTIME_APIS[name][2]) for name in TaskName])[tasks.name],
        sub_task=np.zeros(len(start), np.int64),
    )
