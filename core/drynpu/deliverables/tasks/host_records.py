"""Host side of a PROF directory: API calls, task launches, operator descriptions, copies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from drynpu.arrays import I64, Records
from drynpu.deliverables.calls.api_calls import api_events
from drynpu.deliverables.host_rows import HostRows
from drynpu.deliverables.tasks.task_forms import MIXED, with_flips
from drynpu.kernels import DTYPES, FORMATS, Copy, KernelSpec, TaskType, TensorDesc
from drynpu.layouts import tasks as facts
from drynpu.layouts.schedulers import MIXED_CONTEXT
from drynpu.layouts.tasks import GeTaskType
from drynpu.options import Level as ProfileLevel
from drynpu.raw import RecordKind

_GE_TASK_TYPES: Mapping[TaskType, GeTaskType] = {
    TaskType.AI_CORE: GeTaskType.AI_CORE,
    TaskType.AI_VECTOR_CORE: GeTaskType.AIV,
    TaskType.MIX_AIC: GeTaskType.MIX_AIC,
    TaskType.MIX_AIV: GeTaskType.MIX_AIV,
    TaskType.AI_CPU: GeTaskType.AI_CPU,
    TaskType.DSA: GeTaskType.DSA,
}
_HOST_TASK_TYPES: Mapping[TaskType, str] = {
    TaskType.AI_CORE: "KERNEL_AICORE",
    TaskType.AI_VECTOR_CORE: "KERNEL_AIVEC",
    TaskType.MIX_AIC: "KERNEL_MIX_AIC",
    TaskType.MIX_AIV: "KERNEL_MIX_AIV",
    TaskType.AI_CPU: "KERNEL_AICPU",
    TaskType.DSA: "STARS_COMMON",
    TaskType.MEMCPY: "MEMCPY_ASYNC",
}

_KIND_BITS = 16
"""Width of the direction of a copy."""


def host_records(host: HostRows) -> dict[str, Records]:
    """Return the records that every recording of tasks leaves on the host, by record kind."""
    records = {
        "api_event": api_events(host),
        "task_track": with_flips(_task_track(host), host.simulation.costs.chip.platform, host.types.task),
        "memcpy_info": _memcpy_info(host),
    }
    if host.simulation.costs.chip.platform.tasks.mixed_sub_tasks:
        records["context_id_info"] = _context_ids(host)
    if host.level >= ProfileLevel.L1:
        records["node_basic_info"] = _node_basic_info(host)
        records["tensor_info"] = _tensor_info(host)
    return records


def _reports(host: HostRows, kind: RecordKind, time_ns: I64, place: I64 | slice = slice(None)) -> Records:
    """Return records that threads make at Unix times: for these launches of the host, all by default."""
    rows = kind.new(len(time_ns))
    rows["thread_id"], rows["timestamp"] = host.launches.thread[place], time_ns + host.to_raw_ns
    return rows


def _inside_runtime(host: HostRows) -> I64:
    return (host.launches.runtime_start_ns + host.launches.runtime_end_ns) // 2


def _described(host: HostRows) -> tuple[I64, I64]:
    """Return the launches of the host that are no copies, and their kernels."""
    place = np.flatnonzero(~host.is_copy[host.launches.launch])
    return place, host.simulation.lowered.launch_kernel[host.launches.launch[place]]


def _task_track(host: HostRows) -> Records:
    simulation, ids = host.simulation, host.task_ids
    kernel = simulation.lowered.launch_kernel[ids.launch]
    rows = _reports(host, facts.TASK_TRACK, _inside_runtime(host))
    rows["device_id"], rows["stream_id"] = host.device_id, ids.stream
    rows["task_id"], rows["batch_id"] = ids.task_id, ids.batch_id
    task_types = np.zeros(max(len(simulation.task_types), 1), np.int64)
    for index in np.unique(kernel).tolist():
        task_types[index] = host.types.task(_HOST_TASK_TYPES[simulation.task_types[index]])
    rows["task_type"] = task_types[kernel]
    rows["kernel_name"] = np.where(host.is_copy[ids.launch], np.uint64(0), host.text_ids(lambda k: k.name)[kernel])
    rows["num_blocks"] = simulation.costs.block_num[kernel]
    return rows


def _memcpy_info(host: HostRows) -> Records:
    place = np.flatnonzero(host.is_copy[host.launches.launch])
    rows, copies = _reports(host, facts.MEMCPY_INFO, _inside_runtime(host)[place], place), host.launches.launch[place]
    size = host.of_kernels(lambda k: max(k.bytes_read, k.bytes_written))[copies]
    kind = host.of_kernels(lambda k: (k.copy or Copy.DEVICE_TO_DEVICE).value)[copies]
    rows["size_bytes"], rows["copy_kind"] = size, kind
    # A copy is one task, so the most that one can copy is any number that is not smaller. The toolkit's Python path
    # takes its low half for the direction (cann_msprof.md 7.3): with the direction there, both paths read the same.
    rows["largest_bytes"] = (((size >> _KIND_BITS) + 1) << _KIND_BITS) | kind
    return rows


def _node_basic_info(host: HostRows) -> Records:
    simulation, costs = host.simulation, host.simulation.costs
    place, kernel = _described(host)
    rows = _reports(host, facts.NODE_BASIC_INFO, host.launches.node_end_ns[place] - 1, place)
    rows["op_name"] = host.text_ids(lambda k: k.name)[kernel]
    rows["op_type"] = host.text_ids(lambda k: k.op_type)[kernel]
    kinds = [int(_GE_TASK_TYPES.get(kind, GeTaskType.INVALID)) for kind in simulation.task_types]
    rows["task_type"] = np.array(kinds or [0])[kernel]
    ratio = costs.mix_block_num // np.maximum(costs.block_num, 1)
    rows["block_dim"] = (costs.block_num | ratio << facts.MIX_RATIO_SHIFT)[kernel]
    rows["op_flag"] = host.of_kernels(lambda k: int(k.hf32))[host.launches.launch[place]]
    return rows


def _context_ids(host: HostRows) -> Records:
    """Return which context a kernel on both kinds of core runs in, without which its counters belong to no one."""
    mixed = np.array([kind in MIXED for kind in host.simulation.task_types] or [False])
    kernel = host.simulation.lowered.launch_kernel[host.launches.launch]
    place = np.flatnonzero(mixed[kernel])
    rows = _reports(host, facts.CONTEXT_ID_INFO, host.launches.node_end_ns[place] - 1, place)
    rows["op_name"], rows["count"] = host.text_ids(lambda k: k.name)[kernel[place]], 1
    rows["ids"][:, 0] = MIXED_CONTEXT
    return rows


def _tensor_info(host: HostRows) -> Records:
    """Describe the tensors of every kernel; an operator with more than five has several records."""
    templates, first, count = _tensor_templates(host)
    place, kernel = _described(host)
    per_launch = count[kernel]
    owner = np.repeat(np.arange(len(place)), per_launch)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(per_launch) - per_launch, per_launch)
    rows: Records = templates[first[kernel[owner]] + position]
    rows["thread_id"] = host.launches.thread[place[owner]]
    rows["timestamp"] = host.launches.node_end_ns[place[owner]] - 1 + host.to_raw_ns
    return rows


def _tensor_templates(host: HostRows) -> tuple[Records, I64, I64]:
    """Return the records of every kernel without their time, where each kernel's begin, and their number."""
    per_record = facts.TENSORS_PER_RECORD
    kernels = host.simulation.lowered.kernels
    tensors = [_directed(kernel) for kernel in kernels]
    count = np.array([-(-len(sides) // per_record) for sides in tensors] or [0], np.int64)
    rows = facts.TENSOR_INFO.new(int(count.sum()))
    names = host.text_ids(lambda k: k.name)
    first = np.cumsum(count) - count
    for index, sides in enumerate(tensors):
        for number in range(int(count[index])):
            part = sides[number * per_record : (number + 1) * per_record]
            row = rows[first[index] + number]
            row["op_name"], row["tensor_num"] = names[index], len(part)
            for slot, (direction, tensor) in enumerate(part):
                row["tensors"][slot] = _tensor(direction, tensor)
    return rows, first, count


def _directed(kernel: KernelSpec) -> list[tuple[int, TensorDesc]]:
    return [(0, tensor) for tensor in kernel.inputs] + [(1, tensor) for tensor in kernel.outputs]


def _tensor(direction: int, tensor: TensorDesc) -> tuple[int, int, int, tuple[int, ...]]:
    # A record has room for eight dimensions; 0 ends a shorter shape.
    shape = (*tensor.shape, *(0,) * 8)[:8]
    return direction, FORMATS[tensor.format], DTYPES[tensor.dtype].ge_id, shape
