"""Key points of iterations as ts_track records: tags and their times (cann_msprof.md 5)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.arrays import I64, Records
from drynpu.deliverables.record_context import RecordContext
from drynpu.device.samplers.iterations import KeyPoints, within
from drynpu.layouts import graph as facts
from drynpu.layouts.graph import GET_NEXT_TAG, REDUCE_TAG
from drynpu.raw import join_records
from drynpu.simulate import DEFAULT_STREAM

_MODEL_START, _MODEL_END, _FORWARD, _BACKWARD, _ITERATION_END = range(5)
_ALL_REDUCE = "allReduce"
_MOST_INTERVALS = 5_000
"""Tags of one kind that there are numbers for."""


@frozen(eq=False, kw_only=True)
class Interval:
    """Marked stretches of iterations, int64 ``[r]``: iteration number, ticks of start and end, stream."""

    first_tag: int
    iteration: I64
    start: I64
    end: I64
    stream: I64

    @property
    def place(self) -> I64:
        """How many intervals of the same iteration stand before each."""
        first = np.searchsorted(self.iteration, self.iteration, side="left")
        return np.asarray(np.arange(len(self.iteration)) - first, np.int64)


def point_records(points: KeyPoints, index: I64, model_id: I64, stream: int, device_cntvct: int) -> Records:
    """
    Return the marks of every iteration, in the order model start, forward, backward, iteration end, model end.

    *index* and *model_id* belong to each iteration number.
    """
    parts = []
    for tag, ticks in (
        (_MODEL_START, points.start),
        (_FORWARD, points.forward),
        (_BACKWARD, points.backward),
        (_ITERATION_END, points.end),
        (_MODEL_END, points.end),
    ):
        rows = np.flatnonzero(ticks >= 0)
        number = points.iteration[rows]
        parts.append(_marks(tag, ticks[rows] + device_cntvct, index[number], model_id[number], stream))
    records = join_records(facts.TS_TRACK_STEP, parts)
    # Iteration by iteration: equal ticks keep the order of the marks.
    number = np.concatenate([points.iteration[ticks >= 0] for ticks in _in_order(points)])
    return np.asarray(records[np.argsort(number, kind="stable")])


def _in_order(points: KeyPoints) -> tuple[I64, ...]:
    return points.start, points.forward, points.backward, points.end, points.end


def interval_records(interval: Interval, index: I64, model_id: I64, device_cntvct: int) -> Records:
    """Return two marks for every interval; the k-th of an iteration has the tags ``first_tag + 2k`` and one more."""
    known = np.flatnonzero(interval.place < _MOST_INTERVALS)
    number, tag = interval.iteration[known], interval.first_tag + 2 * interval.place[known]
    parts = [
        _marks(tag + half, ticks[known] + device_cntvct, index[number], model_id[number], interval.stream[known])
        for half, ticks in enumerate((interval.start, interval.end))
    ]
    return join_records(facts.TS_TRACK_STEP, parts)


def in_order(records: Records) -> Records:
    """
    Return marks in time order.

    At equal ticks an iteration opens before what is in it and ends after: the last all-reduce of an iteration is often
    the last that the device does in it, and a reader takes what comes after the end for no part of it.
    """
    tag = records["tag_id"].astype(np.int64)
    rank = np.where(tag >= REDUCE_TAG, _MODEL_START + 1, np.array([0, 5, 2, 3, 4])[np.minimum(tag, _ITERATION_END)])
    return np.asarray(records[np.lexsort((tag, rank, records["index_id"], records["tick"]))])


def _marks(tag: npt.ArrayLike, tick: I64, index: I64, model_id: I64, stream: npt.ArrayLike) -> Records:
    rows = facts.TS_TRACK_STEP.new(len(tick))
    rows["tag_id"], rows["tick"], rows["index_id"] = tag, tick, index
    rows["model_id"], rows["stream_id"] = model_id, stream
    return rows


def _clipped(
    first_tag: int,
    number: I64,
    start: I64,
    end: I64,
    stream: I64,
    *,
    points: KeyPoints,
    barrier: I64 | None = None,
) -> Interval:
    """
    Keep the intervals of iterations that ran, inside them, in the order of iteration and time.

    *barrier*, where given, is a moment of each iteration (-1: none) that intervals from before it do not cross.
    """
    place = np.searchsorted(points.iteration, number)
    ran = (number >= 0) & (place < len(points.iteration))
    ran[ran] = points.iteration[place[ran]] == number[ran]
    rows = np.flatnonzero(ran)
    rows = rows[np.lexsort((start[rows], number[rows]))]
    low, high = points.start[place[rows]], points.end[place[rows]]
    if barrier is not None:
        high = np.where(start[rows] < barrier[place[rows]], barrier[place[rows]], high)
    return Interval(
        first_tag=first_tag,
        iteration=number[rows],
        start=np.clip(start[rows], low, high),
        end=np.clip(end[rows], low, high),
        stream=stream[rows],
    )


def get_nexts(context: RecordContext, starts: I64, ends: I64, points: KeyPoints) -> Interval:
    """
    Return when iterations took data from the queue: dataset events that say how long that lasted.

    The host measured them. What begins before the forward part of its iteration ends before it: forward needs the data.
    """
    events = [event for event in context.recording.dataset if event.duration_ns > 0]
    time = np.array([event.time_ns for event in events], np.int64)
    length = np.array([event.duration_ns for event in events], np.int64)
    begin = context.simulation.time_map(time)
    return _clipped(
        GET_NEXT_TAG,
        within(time, starts, ends),
        _ticks(context, begin),
        _ticks(context, begin + length),
        np.full(len(time), DEFAULT_STREAM),
        points=points,
        barrier=points.forward,
    )


def _ticks(context: RecordContext, time_ns: I64) -> I64:
    simulation = context.simulation
    return np.asarray(np.ceil((time_ns - simulation.base_ns) / simulation.tick_ns), np.int64)


def reduces(context: RecordContext, iteration: I64, points: KeyPoints) -> Interval:
    """
    Return when the all-reduces of iterations ran; *iteration* is the iteration of each collective of the simulation.

    Only all-reduces are marked, as the graph engine marks no other collective.
    """
    times = context.simulation.collectives
    chosen = np.array([collective.kind == _ALL_REDUCE for collective in times.calls.collectives], bool)
    end = times.start_ticks + times.calls.ticks
    columns = (column[chosen] for column in (iteration, times.start_ticks, end, times.calls.stream))
    return _clipped(REDUCE_TAG, *columns, points=points)
