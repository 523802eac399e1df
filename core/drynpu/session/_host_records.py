"""Host side of a PROF directory: API calls, task launches, operator descriptions, copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.device import Mark
from drynpu.kernels import DTYPES, FORMATS, KernelSpec, Operators, TaskType, occurrences
from drynpu.options import Level as ProfileLevel
from drynpu.raw import GeTaskType, Level, family, layouts, split_task_id
from drynpu.session._rows import join_records
from drynpu.session._simulate import Simulation
from drynpu.session._texts import TextIds, TypeIds

__all__ = ["HostThreads", "host_records", "task_numbers"]

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

GE_TASK_TYPES: Mapping[TaskType, GeTaskType] = {
    TaskType.AI_CORE: GeTaskType.AI_CORE,
    TaskType.AI_VECTOR_CORE: GeTaskType.AIV,
    TaskType.MIX_AIC: GeTaskType.MIX_AIC,
    TaskType.MIX_AIV: GeTaskType.MIX_AIV,
    TaskType.AI_CPU: GeTaskType.AI_CPU,
    TaskType.DSA: GeTaskType.DSA,
}
HOST_TASK_TYPES: Mapping[TaskType, str] = {
    TaskType.AI_CORE: "KERNEL_AICORE",
    TaskType.AI_VECTOR_CORE: "KERNEL_AIVEC",
    TaskType.MIX_AIC: "KERNEL_MIX_AIC",
    TaskType.MIX_AIV: "KERNEL_MIX_AIV",
    TaskType.AI_CPU: "KERNEL_AICPU",
    TaskType.DSA: "STARS_COMMON",
    TaskType.MEMCPY: "MEMCPY_ASYNC",
}
_SYNCHRONIZE = "aclrtSynchronizeStreamWithTimeout"
_SYNCHRONIZE_DEVICE = "aclrtSynchronizeDeviceWithTimeout"


@frozen(kw_only=True)
class HostThreads:
    """The launching thread; calling threads are those of the operators."""

    launching: int


def task_numbers(simulation: Simulation) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint16]]:
    """Return ``(task_id, batch_id)`` of every launch: its number on its stream, shape ``[m]``."""
    return split_task_id(occurrences(simulation.stream))


def host_records(
    simulation: Simulation,
    operators: Operators,
    *,
    level: ProfileLevel,
    threads: HostThreads,
    device_id: int,
    to_raw_ns: int,
    texts: TextIds,
    types: TypeIds,
) -> dict[str, Records]:
    """
    Return the records of every host family, keyed by family name.

    ``to_raw_ns`` is added to Unix time to get raw host time.
    """
    records = {
        "api_event": _api_events(simulation, operators, level, threads, to_raw_ns, texts, types),
        "task_track": _task_track(simulation, threads, device_id, to_raw_ns, texts, types),
        "memcpy_info": _memcpy_info(simulation, threads, device_id, to_raw_ns),
    }
    if level in (ProfileLevel.L1, ProfileLevel.L2, ProfileLevel.L3):
        records["node_basic_info"] = _node_basic_info(simulation, threads, to_raw_ns, texts)
        records["tensor_info"] = _tensor_info(simulation, threads, to_raw_ns, texts)
    return records


def _kernel_table(kernels: tuple[KernelSpec, ...], value: object, dtype: type) -> npt.NDArray[np.generic]:
    return np.array([value(k) for k in kernels], dtype) if kernels else np.zeros(1, dtype)  # type: ignore[operator]


def _is_copy(simulation: Simulation) -> npt.NDArray[np.bool_]:
    table = _kernel_table(simulation.lowered.kernels, lambda k: k.task_type is TaskType.MEMCPY, bool)
    return np.asarray(table[simulation.lowered.launch_kernel], bool)


def _apis(
    level: Level, kind: npt.ArrayLike, thread: npt.ArrayLike, begin: I64, end: I64, item: npt.ArrayLike = 0
) -> Records:
    rows = family("api_event").new(len(begin))
    rows["level"], rows["type"] = int(level), kind
    rows["thread_id"], rows["item_id"] = thread, item
    rows["begin"], rows["end"] = begin, end
    return rows


def _api_events(
    simulation: Simulation,
    operators: Operators,
    level: ProfileLevel,
    threads: HostThreads,
    to_raw_ns: int,
    texts: TextIds,
    types: TypeIds,
) -> Records:
    s, lowered, rows = simulation.schedule, simulation.lowered, simulation.rows
    plans = lowered.plans
    acl = np.array([types.api(Level.ACL, p.api) if p.kernels else 0 for p in plans] or [0])
    workspace = np.array(
        [types.api(Level.ACL, p.api + "GetWorkspaceSize") if p.api.startswith("aclnn") else 0 for p in plans] or [0]
    )
    asks = np.flatnonzero(workspace[lowered.dispatch_plan] > 0)
    op_thread = operators.thread[lowered.dispatch_op]
    copy = _is_copy(simulation)
    names = texts.of([k.name for k in lowered.kernels]) if lowered.kernels else np.zeros(1, np.uint64)
    launch = np.flatnonzero(~copy)
    copy_type = types.api(Level.RUNTIME, "MemcopyAsync") if copy.any() else 0
    kernel_type = types.api(Level.RUNTIME, "KernelLaunchWithHandleV2") if len(launch) else 0
    node_type = types.api(Level.NODE, "launch")
    parts = [
        _apis(
            Level.ACL,
            workspace[lowered.dispatch_plan[asks]],
            op_thread[asks],
            s.workspace_start_ns[rows[asks]],
            s.enqueue_start_ns[rows[asks]],
        ),
        _apis(Level.ACL, acl[lowered.dispatch_plan], threads.launching, s.api_start_ns[rows], s.api_end_ns[rows]),
        _apis(
            Level.NODE,
            node_type,
            threads.launching,
            s.node_start_ns[launch],
            s.node_end_ns[launch],
            names[lowered.launch_kernel[launch]],
        ),
        _apis(
            Level.RUNTIME,
            np.where(copy, copy_type, kernel_type),
            threads.launching,
            s.runtime_start_ns,
            s.runtime_end_ns,
        ),
        *_synchronizations(simulation, level, types),
    ]
    events = join_records("api_event", parts)
    events["begin"] += np.uint64(to_raw_ns % 2**64)
    events["end"] += np.uint64(to_raw_ns % 2**64)
    return np.asarray(events[np.lexsort((-events["end"].astype(np.int64), events["begin"]))])


def _synchronizations(simulation: Simulation, level: ProfileLevel, types: TypeIds) -> list[Records]:
    """Calls that wait for the device: the wait itself, on the calling thread."""
    s, d = simulation.schedule, simulation.dispatches
    found: list[Records] = []
    for mark, name in ((Mark.WAIT_STREAM, _SYNCHRONIZE), (Mark.WAIT_DEVICE, _SYNCHRONIZE_DEVICE)):
        rows = np.flatnonzero((d.mark == mark) & (s.end_ns > s.start_ns))
        if not len(rows):
            continue
        begin = np.where(d.launches[rows] > 0, s.enqueue_end_ns[rows], s.start_ns[rows])
        end = np.maximum(s.end_ns[rows], begin)
        found.append(_apis(Level.ACL, types.api(Level.ACL, name), d.thread[rows], begin, end))
        if level in (ProfileLevel.L2, ProfileLevel.L3):
            inner = name.removeprefix("aclrt").removesuffix("WithTimeout").replace("Synchronize", "")
            kind = types.api(Level.RUNTIME, f"{inner}Synchronize")
            found.append(_apis(Level.RUNTIME, kind, d.thread[rows], begin, end))
    return found


def _records(name: str, thread: int, time: I64) -> Records:
    rows = family(name).new(len(time))
    rows["thread_id"], rows["timestamp"] = thread, time
    return rows


def _task_track(
    simulation: Simulation, threads: HostThreads, device_id: int, to_raw_ns: int, texts: TextIds, types: TypeIds
) -> Records:
    s, lowered = simulation.schedule, simulation.lowered
    middle = (s.runtime_start_ns + s.runtime_end_ns) // 2 + to_raw_ns
    rows = _records("task_track", threads.launching, middle)
    kernel = lowered.launch_kernel
    rows["device_id"], rows["stream_id"] = device_id, simulation.stream
    rows["task_id"], rows["batch_id"] = task_numbers(simulation)
    used = set(np.unique(kernel).tolist())
    task_types = [types.task(HOST_TASK_TYPES[t]) if i in used else 0 for i, t in enumerate(simulation.task_types)]
    rows["task_type"] = np.array(task_types or [0])[kernel]
    names = texts.of([k.name for k in lowered.kernels]) if lowered.kernels else np.zeros(1, np.uint64)
    rows["kernel_name"] = np.where(_is_copy(simulation), np.uint64(0), names[kernel])
    rows["num_blocks"] = simulation.costs.block_num[kernel] if len(kernel) else 0
    return rows


def _memcpy_info(simulation: Simulation, threads: HostThreads, device_id: int, to_raw_ns: int) -> Records:
    s, lowered = simulation.schedule, simulation.lowered
    copies = np.flatnonzero(_is_copy(simulation))
    middle = (s.runtime_start_ns[copies] + s.runtime_end_ns[copies]) // 2 + to_raw_ns
    rows = _records("memcpy_info", threads.launching, middle)
    kernel = lowered.launch_kernel[copies]
    rows["size_bytes"] = _kernel_table(lowered.kernels, lambda k: max(k.bytes_read, k.bytes_written), np.int64)[kernel]
    rows["copy_kind"] = _kernel_table(lowered.kernels, lambda k: k.copy.value if k.copy else 0, np.int64)[kernel]
    rows["device_id"], rows["stream_id"] = device_id, simulation.stream[copies]
    return rows


def _node_basic_info(simulation: Simulation, threads: HostThreads, to_raw_ns: int, texts: TextIds) -> Records:
    s, lowered, costs = simulation.schedule, simulation.lowered, simulation.costs
    launch = np.flatnonzero(~_is_copy(simulation))
    time = s.node_end_ns[launch] - 1 + to_raw_ns
    rows = _records("node_basic_info", threads.launching, time)
    kernel = lowered.launch_kernel[launch]
    if not len(kernel):
        return rows
    rows["op_name"] = texts.of([k.name for k in lowered.kernels])[kernel]
    rows["op_type"] = texts.of([k.op_type for k in lowered.kernels])[kernel]
    kinds = [int(GE_TASK_TYPES.get(kind, GeTaskType.INVALID)) for kind in simulation.task_types]
    rows["task_type"] = np.array(kinds)[kernel]
    rows["block_dim"] = (costs.block_num | costs.mix_block_num << 16)[kernel]
    rows["op_flag"] = _kernel_table(lowered.kernels, lambda k: k.hf32, np.int64)[kernel]
    return rows


def _tensor_info(simulation: Simulation, threads: HostThreads, to_raw_ns: int, texts: TextIds) -> Records:
    """Describe the tensors of every kernel; an operator with more than five has several records."""
    s, lowered = simulation.schedule, simulation.lowered
    templates, first, count = _tensor_templates(lowered.kernels, texts)
    launch = np.flatnonzero(~_is_copy(simulation))
    kernel = lowered.launch_kernel[launch]
    per_launch = count[kernel] if len(kernel) else np.empty(0, np.int64)
    owner = np.repeat(np.arange(len(launch)), per_launch)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(per_launch) - per_launch, per_launch)
    rows = templates[first[kernel[owner]] + position] if len(owner) else templates[:0]
    rows["thread_id"] = threads.launching
    rows["timestamp"] = s.node_end_ns[launch[owner]] - 1 + to_raw_ns
    return rows


def _tensor_templates(kernels: tuple[KernelSpec, ...], texts: TextIds) -> tuple[Records, I64, I64]:
    per_record = layouts.TENSORS_PER_RECORD
    tensors = [[(0, t) for t in k.inputs] + [(1, t) for t in k.outputs] for k in kernels]
    count = np.array([-(-len(of) // per_record) for of in tensors] or [0], np.int64)
    rows = family("tensor_info").new(int(count.sum()))
    names = texts.of([k.name for k in kernels])
    first = np.cumsum(count) - count
    for index, of in enumerate(tensors):
        for number in range(int(count[index])):
            part = of[number * per_record : (number + 1) * per_record]
            row = rows[first[index] + number]
            row["op_name"], row["tensor_num"] = names[index], len(part)
            for slot, (direction, tensor) in enumerate(part):
                row["tensors"][slot] = (
                    direction,
                    FORMATS[tensor.format],
                    DTYPES[tensor.dtype].ge_id,
                    (*tensor.shape[:8], *(0,) * (8 - len(tensor.shape[:8]))),
                )
    return rows, first, count
