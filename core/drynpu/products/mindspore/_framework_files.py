"""
The ``FRAMEWORK`` directory of a recording of MindSpore (mindspore_profiler.md 11).

An operator is an event on its own thread. What it launches is put to the launching thread by a flow, and launched
there in an event ``Kernel::KernelLaunch::<operator>``, which is how a reader finds the operator of a kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from attrs import frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.record_context import RecordContext
from drynpu.kernels import Operators, Placement
from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.layouts.framework_mindspore import (
    MS_ABSENT,
    MS_EVENTS,
    MS_MODULES,
    MsMemoryField,
    MsOpRangeField,
    MsShapesField,
)
from drynpu.products._framework_files import recorded_steps
from drynpu.products.mindspore._framework_tables import FLOW
from drynpu.raw import write_document, write_tlv
from drynpu.simulate import Simulation
from drynpu.simulate.host_activity import FrameworkEvents, renumbered
from drynpu.writers.files import make_directory

_RECORD = 1
"""Type of every record; readers do not look at it."""
# Beginnings of the full names of graph nodes; what a script calls itself has no scope.
_SCOPES = ("Default/", "Gradients/", "recompute_Default/")
_COUNT_NS = 10
"""What a reader takes a count of the host for where no PROF directory says (100 MHz)."""
_MEMORY_HEADER = "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n"


@frozen(eq=False)
class _Part:
    """Records of op_range, with the index of each in a list of texts."""

    fixed: Records
    index: I64
    texts: tuple[dict[int, str], ...]


def write_mindspore(directory: Path, context: RecordContext, keep_computing: bool) -> None:
    """
    Write ``mindspore.op_range``; by the request also shapes and memory; operators of the host's own as text.

    The framework's own events stand in op_range as they are, at the times of the recording. What its pool held
    (``Recording.memory_totals``) is written where no allocations are known. *keep_computing* keeps the operators by
    which the CPU computed a kernel.

    Times of op_range are counts of the host: those that the PROF directory beside it explains, and without one counts
    of 10 ns since 1970, which is what MindSpore's analysis takes them for then.

    Raises
    ------
    OutputError
        If the directory or a file cannot be written.
    """
    make_directory(directory)
    operators, prefix, switches = context.recording.operators, context.destination.framework, context.request.switches
    hidden = context.simulation.lowered.computing & (not keep_computing)
    rows = np.flatnonzero(~hidden & ~_on_host(operators))
    _write_events(directory / f"{prefix}.op_range", context, rows)
    if switches.record_shapes:
        _write_shapes(directory / f"{prefix}.record_shapes", operators, rows)
    if switches.profile_memory:
        _write_memory(directory, context)
    _write_host_operators(directory, context)


def _on_host(operators: Operators) -> Bools:
    """Return the operators whose kernels run on the host beside the NPU as well."""
    host = np.array([*(signature.placement is Placement.HOST for signature in operators.signatures), False])
    return np.asarray(host[operators.signature], bool)


def _write_events(path: Path, context: RecordContext, rows: I64) -> None:
    simulation, operators = context.simulation, context.recording.operators
    events = context.recording.framework_events or FrameworkEvents.empty()
    steps = _steps(simulation, operators)
    launches = _launch_events(simulation, operators, context.launching)
    parts = [
        _operator_events(simulation, operators, rows),
        *launches,
        _recorded_events(simulation, events, len(launches[0].fixed)),
    ]
    fixed = np.concatenate([part.fixed for part in parts])
    fixed["pid"] = context.destination.pid
    fixed["step"] = _step_at(fixed["start"].astype(np.int64), steps)
    for name in ("start", "end"):
        time_ns = fixed[name].astype(np.int64)
        fixed[name] = time_ns + context.to_raw_ns if context.destination.device_data else time_ns // _COUNT_NS
    first = np.cumsum([0, *(len(part.texts) for part in parts[:-1])])
    index = np.concatenate([part.index + begin for part, begin in zip(parts, first, strict=True)])
    order = np.argsort(fixed["start"], kind="stable")
    texts = [text for part in parts for text in part.texts]
    write_tlv(path, _RECORD, fixed[order], index[order], texts)


def _events(count: int, module: str, event: str) -> Records:
    fixed = np.zeros(count, mindspore_facts.MS_OP_RANGE)
    fixed["flow_id"], fixed["module"], fixed["event"] = MS_ABSENT, MS_MODULES.index(module), MS_EVENTS.index(event)
    return fixed


def _operator_events(simulation: Simulation, operators: Operators, rows: I64) -> _Part:
    """
    Return an event per operator or annotation on its own thread.

    The name of a node of a graph is its whole scope; the name of an operator that was called by itself is not.
    """
    fixed = _events(len(rows), "PynativeFramework", "RunOp")
    fixed["tid"] = operators.thread[rows]
    fixed["start"], fixed["end"] = simulation.op_start_ns[rows], simulation.op_end_ns[rows]
    in_graph = np.array([name.startswith(_SCOPES) and name.count("/") > 1 for name in operators.names] or [False])
    runtime = in_graph[operators.name[rows]]
    fixed["module"][runtime] = MS_MODULES.index("RuntimeFramework")
    fixed["event"][runtime] = MS_EVENTS.index("PreLaunch")
    noted = operators.signature[rows] < 0
    fixed["module"][noted], fixed["event"][noted] = MS_MODULES.index("Python"), MS_EVENTS.index("PythonObserved")
    return _Part(fixed, operators.name[rows].astype(np.int64), tuple(_named(name) for name in operators.names))


def _named(name: str) -> dict[int, str]:
    return {int(MsOpRangeField.NAME): name, int(MsOpRangeField.FULL_NAME): name}


def _launch_events(simulation: Simulation, operators: Operators, launching_thread: int) -> list[_Part]:
    """Return the flows from the threads that call to the one that launches, and the launches."""
    lowered, schedule, issued = simulation.lowered, simulation.schedule, simulation.collectives
    collectives = issued.calls.collectives
    # The graph engine launches the kernels of a graph without an event for each.
    alone = np.array([not plan.in_graph for plan in lowered.plans] or [False])[lowered.dispatch_plan]
    dispatches = np.flatnonzero(alone)
    rows, callers = simulation.rows[dispatches], lowered.dispatch_op[dispatches]
    kinds = sorted({collective.kind for collective in collectives})
    names = [*operators.names, *(f"{kind[0].upper()}{kind[1:]}" for kind in kinds)]
    collective_names = [len(operators.names) + kinds.index(collective.kind) for collective in collectives]
    index = np.concatenate([operators.name[callers].astype(np.int64), np.array(collective_names, np.int64)])

    def times(name: str) -> I64:
        return np.concatenate([getattr(schedule, name)[rows], getattr(issued, name)])

    calling = np.array([collective.thread for collective in collectives], np.int64)
    flow_id = np.arange(1, len(index) + 1)
    flows = _events(len(index), "Default", "Default")
    flows["tid"], flows["flow_id"] = np.concatenate([operators.thread[callers], calling]), flow_id
    flows["start"], flows["end"] = times("enqueue_start_ns"), times("enqueue_end_ns")
    launches = _events(len(index), "Kernel", "KernelLaunch")
    launches["tid"], launches["flow_id"] = launching_thread, flow_id
    launches["start"], launches["end"] = times("dequeue_start_ns"), times("dequeue_end_ns")
    return [
        _Part(flows, np.zeros(len(index), np.int64), (_named(FLOW),)),
        _Part(launches, index, tuple(_named(name) for name in names)),
    ]


def _recorded_events(simulation: Simulation, events: FrameworkEvents, flows: int) -> _Part:
    """Return what the framework recorded; its flows are numbered behind the *flows* there are."""
    fixed = renumbered(events.records, flows)
    for name in ("start", "end"):
        fixed[name] = simulation.time_map(fixed[name].astype(np.int64))
    index = np.where(events.text_index < 0, len(events.texts), events.text_index)
    return _Part(fixed, index, (*events.texts, {}))


def _steps(simulation: Simulation, operators: Operators) -> I64:
    """Return start, end and number of the steps, int64 ``[s, 3]`` by start."""
    rows, number = recorded_steps(operators)
    return np.stack([simulation.op_start_ns[rows], simulation.op_end_ns[rows], number], axis=1)


def _step_at(time_ns: I64, steps: I64) -> I64:
    """Return the step that each time lies in or after, 0 before the first."""
    position = np.searchsorted(steps[:, 0], time_ns, side="right")
    return np.concatenate([[0], steps[:, 2]])[position]


def _write_shapes(path: Path, operators: Operators, rows: I64) -> None:
    rows = rows[operators.signature[rows] >= 0]
    count = len(operators.signatures) + 1
    distinct, index = np.unique(
        operators.name[rows].astype(np.int64) * count + operators.signature[rows], return_inverse=True
    )
    texts = []
    for code in distinct.tolist():
        dtypes, shapes = operators.texts[code % count]
        texts.append(
            {
                int(MsShapesField.NAME): operators.names[code // count],
                int(MsShapesField.INPUT_SHAPES): shapes,
                int(MsShapesField.INPUT_TYPES): dtypes,
            }
        )
    write_tlv(path, _RECORD, np.zeros(len(rows), mindspore_facts.MS_RECORD_SHAPES), index.astype(np.int64), texts)


def _write_memory(directory: Path, context: RecordContext) -> None:
    """Write every event of the allocator, and what was taken of the device after each."""
    simulation, operators, measured = context.simulation, context.recording.operators, context.recording.memory_totals
    m = simulation.memory
    time_ns = simulation.time_map(m.time_ns)
    released = m.size_bytes < 0
    fixed = np.zeros(len(time_ns), mindspore_facts.MS_MEMORY_USAGE)
    fixed["device_id"], fixed["tid"], fixed["pid"] = context.destination.device_id, m.thread, context.destination.pid
    fixed["time_ns"], fixed["address"] = time_ns, m.address
    fixed["size_bytes"] = np.where(released, 0, m.size_bytes)
    fixed["size_bytes"][released] = MS_ABSENT
    fixed["used_bytes"], fixed["reserved_bytes"] = m.allocated_bytes, m.reserved_bytes
    fixed["peak_bytes"] = np.maximum.accumulate(m.allocated_bytes) if len(time_ns) else 0
    owner = _open_at(operators, m.time_ns, m.thread)
    name = np.where(owner >= 0, operators.name[owner], -1).astype(np.int64) if len(operators) else owner
    texts = [{int(MsMemoryField.OWNER): text} for text in operators.names]
    write_tlv(directory / f"{context.destination.framework}.memory_usage", _RECORD, fixed, name, texts)
    allocated, reserved = m.allocated_bytes, m.reserved_bytes
    if not len(time_ns) and measured is not None:
        time_ns, allocated, reserved = simulation.time_map(measured[:, 0]), measured[:, 1], measured[:, 2]
    columns = (time_ns, allocated, reserved, allocated)
    totals = pl.DataFrame({str(number): column for number, column in enumerate(columns)})
    path = directory / f"cpu_ms_memory_record_{_rank(context)}.txt"
    write_document(path, _MEMORY_HEADER + totals.write_csv(include_header=False))


def _open_at(operators: Operators, time_ns: I64, thread: I64) -> I64:
    """Return the row of the innermost operator that was under way on the thread at each time, -1 if none was."""
    row = np.full(len(time_ns), -1, np.int64)
    for tid in np.unique(thread).tolist():
        rows = np.flatnonzero(operators.thread == tid)
        places = np.flatnonzero(thread == tid)
        if not len(rows):
            continue
        end = operators.end_ns[rows]
        place = np.searchsorted(operators.start_ns[rows], time_ns[places], side="right") - 1
        outer = _enclosing(end)
        while (closed := (place >= 0) & (end[place] < time_ns[places])).any():
            place[closed] = outer[place[closed]]
        row[places] = np.where(place >= 0, rows[place], -1)
    return row


def _enclosing(end: I64) -> I64:
    """Return for each of the intervals of a thread, in order of start, the nearest earlier one that ends no sooner."""
    outer = np.arange(len(end), dtype=np.int64) - 1
    while (inner := (outer >= 0) & (end[outer] < end)).any():
        outer[inner] = outer[outer[inner]]
    return outer


def _write_host_operators(directory: Path, context: RecordContext) -> None:
    """Write a line per operator of the host: ``<name>;HostCpuOps;<start ns>,<duration ms>,<thread> ...``."""
    simulation, operators = context.simulation, context.recording.operators
    rows = np.flatnonzero(_on_host(operators))
    if not len(rows):
        return
    start, end = simulation.op_start_ns[rows], simulation.op_end_ns[rows]
    table = pl.DataFrame(
        {"name": operators.name[rows], "start": start, "ns": end - start, "tid": operators.thread[rows]}
    )
    milliseconds = pl.format(
        "{}.{}", pl.col("ns") // 1_000_000, (pl.col("ns") % 1_000_000).cast(pl.String).str.zfill(6)
    )
    runs = pl.format("{},{},{}", "start", milliseconds, "tid")
    lines = table.group_by("name", maintain_order=True).agg(runs.str.join(" ").alias("runs"))
    text = "".join(_line(operators.names, code, runs) for code, runs in lines.iter_rows())
    write_document(directory / f"cpu_op_execute_timestamp_{_rank(context)}.txt", text)


def _rank(context: RecordContext) -> int:
    return max(context.destination.rank_id, 0)


def _line(names: Sequence[str], code: int, runs: str) -> str:
    return f"{names[code]};HostCpuOps;{runs}\n"
