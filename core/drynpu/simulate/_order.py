"""
Stage 2, order: everything that the host hands to the device, in one order of time.

The simulated host does one thing at a time, so what several threads did at once is cut into disjoint pieces. Every
dispatch keeps a piece inside its own interval; the rest of what was busy becomes pauses, which cost nothing beside an
NPU: it is the time that the CPU took to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.arrays import I64
from drynpu.device import Dispatches, DispatchKind
from drynpu.kernels import KernelPlan
from drynpu.simulate._inputs import DEFAULT_STREAM, Collective, HostCall
from drynpu.simulate._lower import LoweredLaunches
from drynpu.simulate._pieces import cut_pieces
from drynpu.simulate.launch_calls import asks_workspace, compiles

GROUP_STREAM = np.iinfo(np.int64).min
"""Stands for the stream of a collective's group, which the next stage chooses."""
_FLAGS = ("workspace", "compiles", "in_graph")
_UNSET = {"kind": int(DispatchKind.PAUSE), "collective": -1}
"""Columns of a piece that belongs to nothing; those that are not named are 0."""


@frozen(eq=False, kw_only=True)
class HostOrder:
    """
    Launches of operators, calls of the host and collectives as one sequence of dispatches.

    ``dispatches`` (``[n]``) have `GROUP_STREAM` where a dispatch concerns the stream of a collective's group.
    ``operator_rows`` (``[d]``) is the place of each dispatch of ``lowered`` among them; ``collective`` (``[n]``) is the
    number of the collective that a dispatch belongs to, -1 for none. ``collectives`` are in order of their start, and
    ``issuing_stream`` (``[c]``) is the stream whose earlier work each of them waits for.
    """

    lowered: LoweredLaunches
    dispatches: Dispatches
    operator_rows: I64
    operator_stream: I64
    """Stream of each dispatch of ``lowered``, ``[d]``."""
    collective: I64
    collectives: tuple[Collective, ...]
    issuing_stream: I64


def order(lowered: LoweredLaunches, *, computing: bool) -> HostOrder:
    """
    Put launching operators, calls of the host and collectives into one order.

    With *computing* the timeline shows the operators by which the CPU computes a kernel; the launch then comes before
    them.
    """
    recording, op = lowered.recording, lowered.dispatch_op
    operators, switches = recording.operators, recording.streams
    operator_stream = _current_stream(operators.start_ns[op], operators.thread[op], switches)
    collectives = tuple(sorted(recording.collectives, key=lambda collective: collective.start_ns))
    issuing = _issuing_streams(collectives, switches)
    parts = (
        _operator_columns(lowered, operator_stream, computing=computing),
        _call_columns(recording.host_calls),
        _collective_columns(collectives, issuing),
    )
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    # What is no operator comes before an operator that begins in the same nanosecond.
    by_time = np.lexsort((np.arange(len(columns["begin"])) < len(op), columns["begin"]))
    pieces = cut_pieces(*(columns.pop(name)[by_time] for name in ("start", "end", "begin")))
    # The row appended to every column is what a piece of item -1 gets.
    source = np.append(by_time, -1)[pieces.item]
    rows = {name: np.append(values, _UNSET.get(name, 0))[source] for name, values in columns.items()}
    collective = rows.pop("collective")
    flags = {name: rows.pop(name).astype(bool) for name in _FLAGS}
    place = np.empty(len(by_time), np.int64)
    place[source[source >= 0]] = np.flatnonzero(source >= 0)
    return HostOrder(
        lowered=lowered,
        dispatches=Dispatches(start_ns=pieces.begin_ns, end_ns=pieces.end_ns, **rows, **flags),
        operator_rows=place[: len(op)],
        operator_stream=operator_stream,
        collective=collective,
        collectives=collectives,
        issuing_stream=issuing,
    )


def _current_stream(times: I64, threads: I64, switches: Sequence[tuple[int, int, int]]) -> I64:
    """Return the current stream of each thread at each time: the stream of its last switch before."""
    stream = np.full(len(times), DEFAULT_STREAM, np.int64)
    for thread in {switch[1] for switch in switches}:
        here = np.array([(time, to) for time, on, to in switches if on == thread], np.int64)
        rows = np.flatnonzero(threads == thread)
        position = np.searchsorted(here[:, 0], times[rows], side="right") - 1
        stream[rows] = np.where(position >= 0, here[np.maximum(position, 0), 1], DEFAULT_STREAM)
    return stream


def _issuing_streams(collectives: Sequence[Collective], switches: Sequence[tuple[int, int, int]]) -> I64:
    """Return the stream that each collective was issued on: the one it names, or its thread's current one."""
    times = np.array([collective.start_ns for collective in collectives], np.int64)
    threads = np.array([collective.thread for collective in collectives], np.int64)
    named = np.array([-1 if each.stream is None else each.stream for each in collectives], np.int64)
    return np.where(named >= 0, named, _current_stream(times, threads, switches))


def _columns(count: int, **values: npt.ArrayLike) -> dict[str, I64]:
    """Return int64 columns of everything that takes its turn on the host; those that are not given hold nothing."""
    names = ("start", "end", "begin", "kind", "launches", *_FLAGS, "stream", "event", "thread", "collective")
    return {
        name: np.array(np.broadcast_to(np.asarray(values.get(name, _UNSET.get(name, 0)), np.int64), (count,)))
        for name in names
    }


def _operator_columns(lowered: LoweredLaunches, stream: I64, *, computing: bool) -> dict[str, I64]:
    operators, op = lowered.recording.operators, lowered.dispatch_op

    def by_plan(value: Callable[[KernelPlan], bool]) -> I64:
        return np.array([value(plan) for plan in lowered.plans] or [False], np.int64)[lowered.dispatch_plan]

    return _columns(
        len(op),
        start=operators.start_ns[op],
        end=lowered.dispatch_until_ns if computing else operators.end_ns[op],
        begin=lowered.dispatch_begin_ns,
        kind=np.where(by_plan(lambda plan: plan.synchronizes), DispatchKind.WAIT_STREAM, DispatchKind.LAUNCH),
        launches=np.bincount(lowered.launch_dispatch, minlength=len(op)),
        workspace=by_plan(asks_workspace),
        compiles=by_plan(compiles),
        in_graph=by_plan(lambda plan: plan.in_graph),
        stream=stream,
        thread=operators.thread[op],
    )


def _call_columns(calls: Sequence[HostCall]) -> dict[str, I64]:
    time = [call.time_ns for call in calls]
    return _columns(
        len(calls),
        start=time,
        end=[max(call.until_ns, call.time_ns) for call in calls],
        begin=time,
        kind=[call.kind for call in calls],
        stream=[call.stream for call in calls],
        event=[call.event for call in calls],
        in_graph=[call.in_graph for call in calls],
        thread=[call.thread for call in calls],
    )


def _collective_columns(collectives: Sequence[Collective], issuing: I64) -> dict[str, I64]:
    """
    Return the dispatches that put the collectives on the device, five or six per collective.

    An event orders it after the issuing stream; it is launched on its group's stream; another event orders later work
    after it: work of the issuing stream if it blocks, work of streams that wait for its own event.
    """
    count = len(collectives)
    start = np.array([each.start_ns for each in collectives], np.int64)
    end = np.array([each.start_ns if each.end_ns is None else each.end_ns for each in collectives], np.int64)
    blocks = np.array([each.blocking for each in collectives], bool)
    event = np.array([-1 if each.event is None else each.event for each in collectives], np.int64)
    group, nothing = np.full(count, GROUP_STREAM), np.zeros(count, np.int64)
    # Two event numbers of each collective, all below zero, where no script's events are.
    ready, done = -2 - 2 * np.arange(count), -3 - 2 * np.arange(count)
    record, wait = DispatchKind.RECORD_EVENT, DispatchKind.WAIT_EVENT
    kinds = [record, wait, DispatchKind.LAUNCH, record, wait, record]
    kind = np.tile(np.array(kinds, np.int64), (count, 1))
    kind[~blocks, 4] = int(DispatchKind.RECORD_EVENT)
    # The sixth row records the event that the script knows; without one it is left out.
    kept = np.stack([np.ones(count, bool)] * 5 + [event >= 0], 1).reshape(-1)

    def flat(*rows: I64) -> I64:
        return np.asarray(np.stack(rows, 1).reshape(-1)[kept])

    begin = flat(start, start, start, end, end, end)
    return _columns(
        len(begin),
        start=begin,
        end=flat(start, start, end, end, end, end),
        begin=begin,
        kind=kind.reshape(-1)[kept],
        launches=flat(nothing, nothing, nothing + 1, nothing, nothing, nothing),
        stream=flat(issuing, group, group, group, np.where(blocks, issuing, group), group),
        event=flat(ready, ready, ready, done, done, event),
        thread=np.repeat(np.array([each.thread for each in collectives], np.int64), 6)[kept],
        collective=np.repeat(np.arange(count), 6)[kept],
        in_graph=np.repeat(np.array([each.in_graph for each in collectives], np.int64), 6)[kept],
    )
