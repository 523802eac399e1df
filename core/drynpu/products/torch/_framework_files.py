"""The ``FRAMEWORK`` directory of a recording: operators, the task queue, allocator events."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu import OutputError
from drynpu.kernels import Operators
from drynpu.raw import FrameworkRecord, OpRangeField, layouts, write_tlv
from drynpu.simulate._calls import queue_name
from drynpu.simulate._host_order import DEFAULT_STREAM
from drynpu.simulate._simulate import Simulation

__all__ = ["FrameworkOptions", "write_framework"]

I64 = npt.NDArray[np.int64]

_NPU = 20
_MALLOC, _FREE, _BLOCK_FREE = 0, 1, 2
_MARK_NAME = 1
_QUEUE_NAMES = {
    "allReduce": "HcclAllreduce",
    "receive": "HcclRecv",
    "alltoall": "HcclAlltoAll",
    "alltoallv": "HcclAlltoAllV",
}
"""Functions whose name is not that of the operator with a capital (torch_npu's ProcessGroupHCCL)."""


@frozen(kw_only=True)
class FrameworkOptions:
    """
    What goes into the files.

    ``prefix`` is the framework's name in file names (``torch``); ``keep_computing`` keeps the operators by which
    the CPU computed a kernel, which a device would not have run.
    """

    prefix: str
    pid: int
    launching_thread: int
    device_id: int
    to_raw_ns: int
    record_shapes: bool
    profile_memory: bool
    keep_computing: bool
    rank: int = 0
    device_data: bool = True
    """Whether there is a PROF directory beside it, which tells what a time of the host is."""


def write_framework(directory: Path, simulation: Simulation, operators: Operators, options: FrameworkOptions) -> None:
    """
    Write ``<prefix>.op_range``, ``<prefix>.op_mark`` and, with profile_memory, ``<prefix>.memory_usage``.

    Raises
    ------
    OutputError
        If the directory or a file cannot be written.
    """
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"cannot create the directory {directory}: {error.strerror}") from error
    _write_operators(directory / f"{options.prefix}.op_range", simulation, operators, options)
    _write_queue(directory / f"{options.prefix}.op_mark", simulation, operators, options)
    if options.profile_memory:
        _write_memory(directory / f"{options.prefix}.memory_usage", simulation, options)


def _write_operators(path: Path, simulation: Simulation, operators: Operators, options: FrameworkOptions) -> None:
    computing = simulation.lowered.computing
    rows = np.flatnonzero(~computing | options.keep_computing)
    fixed = np.zeros(len(rows), layouts.OP_RANGE)
    fixed["start"] = simulation.op_start_ns[rows] + options.to_raw_ns
    fixed["end"] = simulation.op_end_ns[rows] + options.to_raw_ns
    fixed["sequence"], fixed["scope"] = operators.sequence[rows], operators.scope[rows]
    fixed["pid"], fixed["forward_tid"] = options.pid, operators.fwd_thread[rows]
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
            record_shapes=options.record_shapes,
        )
        for code in distinct.tolist()
    ]
    write_tlv(path, FrameworkRecord.OP_RANGE, fixed, index.astype(np.int64), texts)


def _op_text(operators: Operators, *, name: int, signature: int, stack: int, record_shapes: bool) -> dict[int, str]:
    text = {int(OpRangeField.NAME): operators.names[name]}
    if record_shapes and signature >= 0:
        dtypes, shapes = operators.texts[signature]
        text |= {int(OpRangeField.INPUT_DTYPES): dtypes, int(OpRangeField.INPUT_SHAPES): shapes}
    if stack >= 0 and operators.stacks[stack]:
        text[int(OpRangeField.CALL_STACK)] = operators.stacks[stack]
    return text


def _write_queue(path: Path, simulation: Simulation, operators: Operators, options: FrameworkOptions) -> None:
    s, lowered, rows, issued = simulation.schedule, simulation.lowered, simulation.rows, simulation.collectives
    collectives = issued.work.collectives
    n = len(rows) + len(collectives)
    calling = np.array([of.thread for of in collectives], np.int64)
    thread = np.concatenate([operators.thread[lowered.dispatch_op], calling])
    fixed = np.zeros((4, n), layouts.OP_MARK)
    for category, side in enumerate(("enqueue_start_ns", "enqueue_end_ns", "dequeue_start_ns", "dequeue_end_ns")):
        fixed[category]["time"] = np.concatenate([getattr(s, side)[rows], getattr(issued, side)]) + options.to_raw_ns
        fixed[category]["category"] = category
        fixed[category]["tid"] = thread if category < 2 else options.launching_thread
    fixed["correlation_id"], fixed["pid"] = np.arange(1, n + 1), options.pid
    flat = fixed.ravel()
    order = np.lexsort((flat["category"], flat["time"]))
    names = [queue_name(plan) for plan in lowered.plans] + [_collective_name(of.kind) for of in collectives]
    texts = [{_MARK_NAME: name} for name in names]
    of_collective = np.arange(len(lowered.plans), len(names), dtype=np.int64)
    index = np.tile(np.concatenate([lowered.dispatch_plan, of_collective]), 4)
    write_tlv(path, FrameworkRecord.OP_MARK, flat[order], index[order], texts)


def _collective_name(kind: str) -> str:
    """Return the name of HCCL's function as the queue shows it: ``HcclAllreduce`` (genuine traces), ``HcclSend``."""
    return _QUEUE_NAMES.get(kind, f"Hccl{kind[0].upper()}{kind[1:]}")


def _write_memory(path: Path, simulation: Simulation, options: FrameworkOptions) -> None:
    """An allocation is one record, a release two: the block leaves the pool, then the tensor's memory is free."""
    m = simulation.memory
    release = np.flatnonzero(m.size_bytes < 0)
    rows = np.concatenate([np.arange(len(m.time_ns)), release])
    action = np.concatenate([np.where(m.size_bytes < 0, _BLOCK_FREE, _MALLOC), np.full(len(release), _FREE)])
    order = np.lexsort((np.arange(len(rows)) >= len(m.time_ns), rows))
    rows, action = rows[order], action[order]
    fixed = np.zeros(len(rows), layouts.MEMORY_USAGE)
    fixed["pointer"] = m.address[rows].astype(np.int64)
    fixed["time"] = simulation.warp(m.time_ns)[rows] + options.to_raw_ns
    fixed["size_bytes"] = m.size_bytes[rows]
    fixed["total_allocated_bytes"] = fixed["total_active_bytes"] = m.allocated_bytes[rows]
    fixed["total_reserved_bytes"] = m.reserved_bytes[rows]
    fixed["stream"], fixed["device_type"], fixed["device_index"] = DEFAULT_STREAM, _NPU, options.device_id
    fixed["action"], fixed["tid"], fixed["pid"] = action, m.thread[rows], options.pid
    write_tlv(path, FrameworkRecord.MEMORY_USAGE, fixed)
