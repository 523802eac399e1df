"""Compiled graphs: whose kernels are whose, the key points of iterations, what was fused and planned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.graph._captured import capture_records, replay_calls
from drynpu.deliverables.graph._graph_parts import (
    compiled,
    fusion_records,
    graph_records,
    static_memory_records,
)
from drynpu.deliverables.graph._key_points import (
    Interval,
    get_nexts,
    in_order,
    interval_records,
    point_records,
    reduces,
)
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.step_form import step_form
from drynpu.device import inherit
from drynpu.device.samplers.iterations import KeyPoints, key_points, within
from drynpu.kernels import TaskType
from drynpu.layouts import graph as facts
from drynpu.layouts.calls import API_EVENT
from drynpu.layouts.graph import GET_NEXT
from drynpu.options import Level as ProfileLevel
from drynpu.raw import EVENT_FLAG, HostLevel, join_records
from drynpu.simulate import DEFAULT_STREAM, GraphRun, Iteration

_BACKWARD_SCOPE = 1
"""torch's RecordScope::BACKWARD_FUNCTION, as in ``Operators.scope``."""


@frozen(eq=False, kw_only=True)
class _Iterations:
    """
    All iterations of all graphs in host order, and which launch belongs to which.

    ``of_launch``, ``of_dispatch`` and ``of_collective`` are int64, -1 outside every iteration.
    """

    graphs: tuple[GraphRun, ...]
    graph: tuple[int, ...]
    items: tuple[Iteration, ...]
    of_dispatch: I64
    of_launch: I64
    of_collective: I64

    @property
    def model_id(self) -> I64:
        return np.array([self.graphs[graph].model_id for graph in self.graph], np.int64)

    def launches(self, graph: int) -> Bools:
        """Return which launches belong to iterations of a graph, by its number."""
        return np.isin(self.of_launch, np.flatnonzero(np.array(self.graph) == graph))


def build(context: RecordContext) -> GroupRecords:
    """
    Return the records of the graphs of a recording.

    Every iteration that launched something is one ``ModelExecute`` call around its launches; its kernels belong to
    the model by that (cann_msprof.md 7.5). Key points (model start, forward, backward, iteration end, model end,
    all-reduces, get-next) are kept when the iteration trace is asked for, which sample.json says under
    ``ts_keypoint``. A ``ModelLoad`` call carries names and plans of each graph, and the launches of its nodes lie in
    it (`drynpu.simulate`).

    The graph engine knows nothing of a graph that was captured from streams: the runtime reports whose streams it has,
    and each replay is a call into ACL.
    """
    traced = context.request.switches.training_trace
    sample = {"ts_keypoint": "on" if traced else "off"}
    graphs = context.recording.graphs
    notes = _unknown_points(context) if traced else ()
    if not graphs:
        return GroupRecords(sample=sample, notes=notes)
    iterations = _place(context)
    replays = replay_calls(context, iterations.of_dispatch, np.array(iterations.graph, np.int64))
    if context.request.level is ProfileLevel.NONE:
        return GroupRecords(host={"api_event": replays}, sample=sample)
    host: dict[str, Records] = {
        "api_event": join_records(API_EVENT, [_loads(context), _executions(context, iterations), replays]),
        "capture_stream_info": capture_records(context),
        "graph_id_map": graph_records(context),
        "fusion_op_info": fusion_records(context),
    }
    if context.request.switches.task_memory:
        host["static_op_mem"] = static_memory_records(context)
    device = step_form(_points(context, iterations), context.chip.platform) if traced else {}
    return GroupRecords(host=host, device=device, sample=sample, notes=notes)


def _unknown_points(context: RecordContext) -> tuple[str, ...]:
    """Return a line for each name that was chosen as a key point and that nothing in the recording has."""
    filters = context.request.filters
    names = {*context.recording.operators.names, *(kernel.name for kernel in context.simulation.lowered.kernels)}
    return tuple(
        f"No operator of the recording is called {name!r}, so the iteration trace has no {point}; "
        "without a name the point is searched for"
        for name, point in ((filters.first_forward_op, "FP Start"), (filters.last_backward_op, "BP End"))
        if name and name not in names
    )


def _place(context: RecordContext) -> _Iterations:
    """Give operators and collectives to the iteration that was under way on the host when they began."""
    graphs = context.recording.graphs
    pairs = [(number, iteration) for number, graph in enumerate(graphs) for iteration in graph.iterations]
    pairs.sort(key=lambda pair: pair[1].start_ns)
    lowered, operators = context.simulation.lowered, context.recording.operators
    starts = np.array([iteration.start_ns for _, iteration in pairs], np.int64)
    ends = np.array([iteration.end_ns for _, iteration in pairs], np.int64)
    of_dispatch = within(operators.start_ns[lowered.dispatch_op], starts, ends)
    issued = np.array(
        [collective.start_ns for collective in context.simulation.collectives.calls.collectives], np.int64
    )
    return _Iterations(
        graphs=graphs,
        graph=tuple(number for number, _ in pairs),
        items=tuple(iteration for _, iteration in pairs),
        of_dispatch=of_dispatch,
        of_launch=of_dispatch[lowered.launch_dispatch],
        of_collective=within(issued, starts, ends),
    )


def _model_calls(context: RecordContext, name: str, begin: I64, end: I64, model_id: npt.ArrayLike) -> Records:
    rows = API_EVENT.new(len(begin))
    rows["level"], rows["type"] = int(HostLevel.MODEL), context.types.api(HostLevel.MODEL, name)
    rows["thread_id"], rows["item_id"] = context.launching, model_id
    rows["begin"], rows["end"] = begin + context.to_raw_ns, end + context.to_raw_ns
    return rows


def _loads(context: RecordContext) -> Records:
    loads, number = context.simulation.loads, compiled(context)
    model_id = [context.recording.graphs[each].model_id for each in number.tolist()]
    calls = _model_calls(context, "ModelLoad", loads.begin_ns[number], loads.end_ns[number], model_id)
    calls["thread_id"] = context.loading
    # Graph by graph the Python path takes what was launched in a pair of request 0 for nodes of a static graph.
    return calls if context.chip.platform.tasks.unique_ids else _event_pairs(calls)


def _event_pairs(calls: Records) -> Records:
    """Return calls as two events each, their begins and their ends, in order of time."""
    pair = join_records(API_EVENT, [calls, calls])
    pair["begin"][len(calls) :], pair["end"] = calls["end"], EVENT_FLAG
    return np.asarray(pair[np.argsort(pair["begin"], kind="stable")])


def _executions(context: RecordContext, iterations: _Iterations) -> Records:
    s, rows, times = context.simulation.schedule, context.simulation.rows, context.simulation.collectives
    iteration = np.concatenate([iterations.of_dispatch, iterations.of_collective])
    inside = np.isin(iteration, np.flatnonzero(np.isin(iterations.graph, compiled(context))))
    number, group = np.unique(iteration[inside], return_inverse=True)
    begin = np.full(len(number), np.iinfo(np.int64).max)
    end = np.full(len(number), np.iinfo(np.int64).min)
    np.minimum.at(begin, group.reshape(-1), np.concatenate([s.api_start_ns[rows], times.api_start_ns])[inside])
    np.maximum.at(end, group.reshape(-1), np.concatenate([s.api_end_ns[rows], times.api_end_ns])[inside])
    calls = _model_calls(context, "ModelExecute", begin, end, iterations.model_id[number])
    if context.chip.platform.tasks.unique_ids:
        return calls
    # Graph by graph the Python path takes the iteration from the request of a pair of events (cann_msprof.md 1.9).
    calls["request_id"] = np.array([item.index for item in iterations.items], np.int64)[number]
    return _event_pairs(calls)


def _points(context: RecordContext, iterations: _Iterations) -> Records:
    simulation = context.simulation
    times = simulation.collectives
    start = np.concatenate([simulation.schedule.kernel_start_ticks, times.start_ticks])
    no_point = np.zeros(len(times.calls), bool)
    sides = _candidates(context, iterations)
    forward, backward = (np.concatenate([side, no_point]) for side in sides)
    points = key_points(
        _marked(iterations, sides[0]),
        start,
        start + np.concatenate([simulation.kernel_ticks, times.calls.ticks]),
        forward=forward,
        backward=backward,
        graph=iterations.graph,
    )
    index = np.array([item.index for item in iterations.items], np.int64)
    cntvct = context.anchors.device_cntvct
    parts = [
        point_records(points, index, iterations.model_id, DEFAULT_STREAM, cntvct),
        *(
            interval_records(interval, index, iterations.model_id, cntvct)
            for interval in _intervals(context, iterations, points)
        ),
    ]
    return in_order(join_records(facts.TS_TRACK_STEP, parts))


def _marked(iterations: _Iterations, forward: Bools) -> I64:
    """
    Return the iteration of every launch and collective.

    It is -1 in graphs without marks, unless a name stands there, and in those that no graph engine compiled.
    """
    number = np.concatenate([iterations.of_launch, iterations.of_collective])
    unmarked = {
        graph
        for graph, run in enumerate(iterations.graphs)
        if run.is_captured
        or (run.points is not None and not run.points.marked and not forward[iterations.launches(graph)].any())
    }
    without = [place for place, graph in enumerate(iterations.graph) if graph in unmarked]
    return np.asarray(np.where(np.isin(number, without), -1, number), np.int64)


def _intervals(context: RecordContext, iterations: _Iterations, points: KeyPoints) -> Sequence[Interval]:
    starts = np.array([item.start_ns for item in iterations.items], np.int64)
    ends = np.array([item.end_ns for item in iterations.items], np.int64)
    return reduces(context, iterations.of_collective, points), get_nexts(context, starts, ends, points)


def _candidates(context: RecordContext, iterations: _Iterations) -> tuple[Bools, Bools]:
    """
    Return per launch whether it may be the first forward and the last backward kernel of its iteration.

    A name of the request picks the kernels of the operators called so, and of what they call; one that nothing is
    called gives no point. Without a name the operators count that the graph's compiler found. Where it searched for
    none, every computing kernel is forward unless an operator around it is a backward one.
    """
    lowered = context.simulation.lowered
    operators, filters = context.recording.operators, context.request.filters
    backward_op = operators.scope == _BACKWARD_SCOPE
    backward_op = backward_op | inherit(lowered.depth, lowered.parent, backward_op)
    op = lowered.dispatch_op[lowered.launch_dispatch]
    computes = np.array([kind is not TaskType.MEMCPY for kind in context.simulation.task_types] or [False])
    takes_data = np.array([kernel.op_type == GET_NEXT for kernel in lowered.kernels] or [False])
    computes = (computes & ~takes_data)[lowered.launch_kernel]
    sides = []
    for side, field_name, chosen_name in (
        (~backward_op[op], "forward", filters.first_forward_op),
        (backward_op[op], "backward", filters.last_backward_op),
    ):
        chosen = side & computes
        for number, graph in enumerate(iterations.graphs):
            compiler_names = None if graph.points is None else frozenset(getattr(graph.points, field_name))
            names = frozenset({chosen_name}) if chosen_name else compiler_names
            if names is not None:
                rows = iterations.launches(number)
                chosen[rows] = _called(context, names)[rows]
        sides.append(chosen)
    forward, backward = sides
    for number, graph in enumerate(iterations.graphs):
        rows = iterations.launches(number)
        if graph.points is not None and not backward[rows].any():
            forward[rows] = False
    return forward, backward


def _called(context: RecordContext, names: frozenset[str]) -> Bools:
    """Return per launch whether its kernel, its operator or one around that has one of *names*."""
    lowered, operators = context.simulation.lowered, context.recording.operators
    named = np.array([text in names for text in operators.names] or [False])[operators.name]
    named = named | inherit(lowered.depth, lowered.parent, named)
    kernel = np.array([kernel.name in names for kernel in lowered.kernels] or [False])
    return np.asarray(named[lowered.dispatch_op[lowered.launch_dispatch]] | kernel[lowered.launch_kernel], bool)
