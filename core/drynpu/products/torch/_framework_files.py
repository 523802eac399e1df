"""The ``FRAMEWORK`` directory of a recording: operators, the task queue, allocator events."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from drynpu.arrays import I64
from drynpu.deliverables.record_context import RecordContext
from drynpu.kernels import Operators
from drynpu.layouts import framework_torch as torch_facts
from drynpu.layouts.framework_torch import BLOCK_FREE, FREE, MALLOC, MARK_NAME, FrameworkRecord, OpRangeField
from drynpu.layouts.operator_memory import NPU_DEVICE_TYPE
from drynpu.raw import write_tlv
from drynpu.simulate import DEFAULT_STREAM
from drynpu.simulate.launch_calls import queue_name
from drynpu.writers.files import make_directory

_QUEUE_NAMES = {
    "allReduce": "HcclAllreduce",
    "receive": "HcclRecv",
    "alltoall": "HcclAlltoAll",
    "alltoallv": "HcclAlltoAllV",
}
"""Functions whose name is not the operator's name with a capital (torch_npu's ProcessGroupHCCL)."""


def write_torch(directory: Path, context: RecordContext, keep_computing: bool) -> None:
    """
    Write ``<prefix>.op_range``, ``<prefix>.op_mark`` and, with profile_memory, ``<prefix>.memory_usage``.

    The prefix is the framework's name. *keep_computing* keeps the operators by which the CPU computed a kernel.

    Raises
    ------
    OutputError
        If the directory or a file cannot be written.
    """
    make_directory(directory)
    prefix, switches = context.destination.framework, context.request.switches
    shown = ~context.simulation.lowered.computing | keep_computing
    rows = np.flatnonzero(shown & context.recording.operators.reported)
    _write_operators(directory / f"{prefix}.op_range", context, rows)
    if context.simulation.launch_mode.queued:
        _write_queue(directory / f"{prefix}.op_mark", context)
    if switches.profile_memory:
        _write_memory(directory / f"{prefix}.memory_usage", context)


def _write_operators(path: Path, context: RecordContext, rows: I64) -> None:
    simulation, operators = context.simulation, context.recording.operators
    fixed = np.zeros(len(rows), torch_facts.OP_RANGE)
    fixed["start"] = simulation.op_start_ns[rows] + context.to_raw_ns
    fixed["end"] = simulation.op_end_ns[rows] + context.to_raw_ns
    fixed["sequence"], fixed["scope"] = operators.sequence[rows], operators.scope[rows]
    fixed["pid"], fixed["forward_tid"] = context.destination.pid, operators.fwd_thread[rows]
    fixed["start_tid"] = fixed["end_tid"] = operators.thread[rows]
    signatures, stacks = len(operators.signatures) + 1, len(operators.stacks) + 1
    key = (operators.name[rows].astype(np.int64) * signatures + operators.signature[rows] + 1) * stacks
    distinct, index = np.unique(key + operators.stack[rows] + 1, return_inverse=True)
    texts = [
        _op_text(
            operators,
            name=code // stacks // signatures,
            signature=code // stacks % signatures - 1,
            stack=code % stacks - 1,
            record_shapes=context.request.switches.record_shapes,
        )
        for code in distinct.tolist()
    ]
    write_tlv(path, FrameworkRecord.OP_RANGE, fixed, index.astype(np.int64), texts)


def _op_text(operators: Operators, *, name: int, signature: int, stack: int, record_shapes: bool) -> dict[int, str]:
    text = {int(OpRangeField.NAME): operators.names[name]}
    if record_shapes and signature >= 0:
        dtypes, shapes = operators.texts[signature]
        # An operator without inputs has neither field (torch_npu_profiler.md 3.7).
        text |= {int(OpRangeField.INPUT_DTYPES): dtypes, int(OpRangeField.INPUT_SHAPES): shapes} if dtypes else {}
    if stack >= 0 and operators.stacks[stack]:
        text[int(OpRangeField.CALL_STACK)] = operators.stacks[stack]
    return text


def _write_queue(path: Path, context: RecordContext) -> None:
    """Write what went through the task queue; what a graph launches does not."""
    simulation, operators = context.simulation, context.recording.operators
    s, lowered, issued = simulation.schedule, simulation.lowered, simulation.collectives
    alone = np.flatnonzero(np.array([not plan.in_graph for plan in lowered.plans] or [True])[lowered.dispatch_plan])
    rows, plans = simulation.rows[alone], lowered.dispatch_plan[alone]
    collectives = issued.calls.collectives
    n = len(rows) + len(collectives)
    calling = np.array([collective.thread for collective in collectives], np.int64)
    thread = np.concatenate([operators.thread[lowered.dispatch_op[alone]], calling])
    fixed = np.zeros((4, n), torch_facts.OP_MARK)
    for category, side in enumerate(("enqueue_start_ns", "enqueue_end_ns", "dequeue_start_ns", "dequeue_end_ns")):
        fixed[category]["time"] = np.concatenate([getattr(s, side)[rows], getattr(issued, side)]) + context.to_raw_ns
        fixed[category]["category"] = category
        fixed[category]["tid"] = thread if category < 2 else context.launching
    # Readers take the first and last correlation id of a step for what it launched first and last.
    fixed["correlation_id"][:, np.argsort(fixed[0]["time"], kind="stable")] = np.arange(1, n + 1)
    fixed["pid"] = context.destination.pid
    flat = fixed.ravel()
    order = np.lexsort((flat["category"], flat["time"]))
    names = [queue_name(plan) for plan in lowered.plans]
    names += [_collective_name(collective.kind) for collective in collectives]
    texts = [{MARK_NAME: name} for name in names]
    of_collective = np.arange(len(lowered.plans), len(names), dtype=np.int64)
    index = np.tile(np.concatenate([plans, of_collective]), 4)
    write_tlv(path, FrameworkRecord.OP_MARK, flat[order], index[order], texts)


def _collective_name(kind: str) -> str:
    """Return the name of HCCL's function as the queue shows it: ``HcclAllreduce`` (genuine traces), ``HcclSend``."""
    return _QUEUE_NAMES.get(kind, f"Hccl{kind[0].upper()}{kind[1:]}")


def _write_memory(path: Path, context: RecordContext) -> None:
    """Write a record for an allocation, two for a release: the block leaves the pool, then the tensor is freed."""
    m = context.simulation.memory
    release = np.flatnonzero(m.size_bytes < 0)
    rows = np.concatenate([np.arange(len(m.time_ns)), release])
    action = np.concatenate([np.where(m.size_bytes < 0, BLOCK_FREE, MALLOC), np.full(len(release), FREE)])
    order = np.lexsort((np.arange(len(rows)) >= len(m.time_ns), rows))
    rows, action = rows[order], action[order]
    fixed = np.zeros(len(rows), torch_facts.MEMORY_USAGE)
    fixed["pointer"] = m.address[rows].astype(np.int64)
    fixed["time"] = context.simulation.time_map(m.time_ns)[rows] + context.to_raw_ns
    fixed["size_bytes"] = m.size_bytes[rows]
    fixed["total_allocated_bytes"] = fixed["total_active_bytes"] = m.allocated_bytes[rows]
    fixed["total_reserved_bytes"] = m.reserved_bytes[rows]
    fixed["stream"], fixed["device_type"] = DEFAULT_STREAM, NPU_DEVICE_TYPE
    fixed["device_index"] = context.destination.device_id
    fixed["action"], fixed["tid"], fixed["pid"] = action, m.thread[rows], context.destination.pid
    write_tlv(path, FrameworkRecord.MEMORY_USAGE, fixed)
