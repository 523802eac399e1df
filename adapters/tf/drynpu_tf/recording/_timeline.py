"""
One timeline of everything that was captured.

The graph engine hands a whole graph to the device. So only those nodes of a graph that launch something stay, each
lasting until the next one: what TensorFlow's executor did between them on this CPU did not happen beside an NPU.
Graphs that ran at the same time run one after another, as on a device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu.arrays import I64, Bools
from drynpu.device import DispatchKind
from drynpu.kernels import UNMAPPED_SUFFIX, KernelPlan, Operators, Signature, concatenate
from drynpu.recorder import Planner
from drynpu.simulate import DatasetEvent, FusionOp, GraphPoints, GraphRun, HostCall, Iteration
from drynpu_tf.capture import DatasetRead
from drynpu_tf.recording._communication import Communication, Issued, communicating

_ACTION = "Last queue dequeue"
"""What dp records say of an element that left the device's queue (msprof parse_dp_data.py)."""
_NODE = 1
"""Where `node_signature` puts the name of the node among the attributes of a signature."""


@frozen(kw_only=True)
class GraphExecution:
    """
    One run of a graph on the device: the graph's name, and when the call of it began and returned (Unix ns).

    ``fusions`` are the operators that the graph engine makes of several, ``points`` where it marks the graph; points of
    the first execution of a graph count. ``reads`` are the elements it took from the device's queue, ``consumers``
    the operators that take what a communication operator leaves. The first run of a graph ``loads`` it, unless it may
    have run before the recording. A run of a training loop is an execution for each of its ``turns``, of which this is
    number ``turn``.
    """

    graph: str
    start_ns: int
    end_ns: int
    thread: int
    fusions: tuple[FusionOp, ...] = ()
    points: GraphPoints | None = None
    consumers: Mapping[str, frozenset[str]] = field(factory=dict)
    reads: tuple[DatasetRead, ...] = ()
    turn: int = 1
    turns: int = 1
    loads: bool = False


@frozen(eq=False)
class Part:
    """Operators as they were captured together; without an execution they were launched one by one."""

    operators: Operators
    execution: GraphExecution | None


@frozen(eq=False)
class Timeline:
    """
    All operators, the graphs with their iterations, where the host waited for the device, and for which data.

    ``issued`` are the communication operators, and ``left_out`` counts the ones of unknown size.
    """

    operators: Operators
    graphs: tuple[GraphRun, ...]
    marks: tuple[HostCall, ...]
    dataset: tuple[DatasetEvent, ...] = ()
    issued: tuple[Issued, ...] = ()
    left_out: Mapping[str, int] = field(factory=dict)


@define
class Progress:
    """
    How far a timeline has come, so that what is captured later can go on from there.

    ``free_ns`` is when the device has finished all graphs; ``numbers``, ``runs``, ``fusions``, ``points`` and ``loads``
    hold of each graph its model id, how often it ran, the operators that were made of several, where it is marked, and
    when it was loaded.
    """

    free_ns: int = 0
    numbers: dict[str, int] = field(factory=dict)
    runs: dict[str, int] = field(factory=dict)
    fusions: dict[str, tuple[FusionOp, ...]] = field(factory=dict)
    points: dict[str, GraphPoints | None] = field(factory=dict)
    loads: dict[str, tuple[int, int] | None] = field(factory=dict)
    communication: Communication = field(factory=Communication)


def join(parts: Sequence[Part], plan: Planner, progress: Progress | None = None) -> Timeline:
    """Return one timeline of all *parts*, behind *progress*; *plan* maps operators to kernels."""
    progress = Progress() if progress is None else progress
    launches, communication, issued = _Launches(plan), progress.communication, list[Issued]()
    placed: list[Operators] = [part.operators for part in parts if part.execution is None]
    iterations: dict[str, list[Iteration]] = {}
    marks: list[HostCall] = []
    dataset: list[DatasetEvent] = []
    graphs = [(part.operators, part.execution) for part in parts if part.execution is not None]
    for operators, execution in sorted(graphs, key=lambda pair: pair[1].start_ns):
        rows = np.flatnonzero(launches.mask(operators))
        if not len(rows):
            continue
        if execution.turn > 1:
            operators, execution = _closed_up(operators, execution, int(operators.start_ns[rows[0]]) - progress.free_ns)
        launching, events = _placed(operators, rows, execution, progress.free_ns)
        dataset += events
        returns = execution.turn == execution.turns
        begin_ns = max(execution.start_ns, progress.free_ns)
        free_ns = progress.free_ns = max(execution.end_ns if returns else 0, int(launching.end_ns[-1]))
        communicated = communication.take(launching, execution.thread, free_ns, execution.consumers)
        placed.append(communicated.kernels)
        issued += communicated.issued
        marks += communicated.waits
        name = execution.graph
        progress.numbers.setdefault(name, len(progress.numbers) + 1)
        progress.fusions.setdefault(name, execution.fusions)
        progress.points.setdefault(name, execution.points)
        progress.loads.setdefault(name, (begin_ns, int(launching.start_ns[0])) if execution.loads else None)
        progress.runs[name] = progress.runs.get(name, 0) + 1
        run = Iteration(index=progress.runs[name], start_ns=begin_ns, end_ns=free_ns)
        iterations.setdefault(name, []).append(run)
        if returns:
            # A run returns when the device has finished the graph.
            marks.append(HostCall(free_ns, execution.thread, DispatchKind.WAIT_STREAM))
    return Timeline(
        operators=concatenate(placed),
        graphs=tuple(
            GraphRun(
                model_id=progress.numbers[name],
                graph_id=progress.numbers[name],
                model_name=name,
                iterations=tuple(runs),
                fusions=progress.fusions[name],
                points=progress.points[name],
                load=progress.loads[name],
            )
            for name, runs in iterations.items()
        ),
        marks=tuple(marks),
        dataset=tuple(dataset),
        issued=tuple(issued),
        left_out=dict(communication.left_out),
    )


def _closed_up(operators: Operators, execution: GraphExecution, gap_ns: int) -> tuple[Operators, GraphExecution]:
    """Return a further turn of a loop *gap_ns* earlier: a device makes it without a call from the host."""
    gap_ns = max(gap_ns, 0)
    moved = evolve(operators, start_ns=operators.start_ns - gap_ns, end_ns=operators.end_ns - gap_ns)
    reads = tuple(
        read if read.end_ns is None else evolve(read, end_ns=read.end_ns - gap_ns) for read in execution.reads
    )
    return moved, evolve(execution, start_ns=execution.start_ns - gap_ns, end_ns=execution.end_ns - gap_ns, reads=reads)


class _Launches:
    """Finds the rows that launch or communicate; every tuple of signatures is planned once."""

    def __init__(self, plan: Planner) -> None:
        self._plan = plan
        self._known: dict[int, Bools] = {}

    def mask(self, operators: Operators) -> Bools:
        signatures = operators.signatures
        known = self._known.get(id(signatures))
        if known is None:
            # The last entry is for rows without a signature.
            known = np.array([*(bool(self._plan(signature).kernels) for signature in signatures), False])
            known[[number for number, _ in communicating(signatures)]] = True
            self._known[id(signatures)] = known
        return np.asarray(known[operators.signature], bool)


def _placed(
    operators: Operators, rows: I64, execution: GraphExecution, free_ns: int
) -> tuple[Operators, list[DatasetEvent]]:
    """
    Return *rows* one after another, from *free_ns* on at the earliest, and the data that they took.

    What comes after taking data waits for it. The wait is no part of the operator: operators last as long as an NPU
    needs to launch them, what lies between them as long as it was measured.
    """
    turn = np.arange(len(rows))
    ready = _ready(rows, execution.reads)
    waits = ready > 0
    start = np.maximum(operators.start_ns[rows], free_ns)
    start[1:] = np.maximum(start[1:], np.maximum.accumulate(ready)[:-1])
    # Strictly ascending: no two operators of a thread begin in the same nanosecond.
    start = np.maximum.accumulate(start - turn) + turn
    end = np.append(start[1:], max(int(operators.end_ns[rows[-1]]), int(start[-1]) + 1))
    end[waits] = start[waits] + 1
    placed = operators.select(rows, start_ns=start, end_ns=end, thread=np.full(len(rows), execution.thread, np.int64))
    return placed, _events(execution.reads, rows, start)


def _ready(rows: I64, reads: Sequence[DatasetRead]) -> I64:
    """Return when the data was there for each of *rows* that took some, 0 for others."""
    ready = np.zeros(len(rows), np.int64)
    for read in reads:
        ready[rows == read.row] = read.end_ns or 0
    return ready


def _events(reads: Sequence[DatasetRead], rows: I64, start: I64) -> list[DatasetEvent]:
    place = {row: number for number, row in enumerate(rows.tolist())}
    return [
        DatasetEvent(
            time_ns=int(start[place[read.row]]),
            action=_ACTION,
            source=read.source,
            buffered=read.buffered,
            duration_ns=0 if read.end_ns is None else max(read.end_ns - int(start[place[read.row]]), 1),
        )
        for read in reads
        if read.row in place
    ]


def node_plans(plan: Planner) -> Planner:
    """
    Return *plan* for nodes of graphs as well.

    The graph engine launches the kernels of a node without a call of their own and waits for none of them. The kernel
    of an operator without a rule is called as the node, as others are by their rules, and keeps its suffix.
    """

    def planned(signature: Signature) -> KernelPlan:
        kernel_plan = plan(signature)
        node = signature.attributes[_NODE] if len(signature.attributes) > _NODE else ""
        if not isinstance(node, str) or not node:
            return kernel_plan
        if not kernel_plan.mapped:
            kernels = tuple(
                evolve(kernel, name=f"{node}{UNMAPPED_SUFFIX}", op_type=signature.name)
                for kernel in kernel_plan.kernels
            )
            kernel_plan = evolve(kernel_plan, kernels=kernels)
        return evolve(kernel_plan, claims=True, synchronizes=False, in_graph=True)

    return planned
