"""When markers run on the device: first in, first out, without taking time."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64
from drynpu.deliverables.record_context import RecordContext


def device_ticks(context: RecordContext, time_ns: I64, stream: I64) -> tuple[I64, I64]:
    """
    Return when markers run, in ticks after the recording's base, and their task numbers on their streams.

    A marker arrives when the launching thread is through with what was issued before it, and waits for the work that
    was issued to its stream before it: kernels, and collectives that block the stream.

    Parameters
    ----------
    time_ns, stream:
        When each was issued on the measured host timeline (ascending), and to which stream; shape ``[n]``.
    """
    simulation = context.simulation
    lowered, operators = simulation.lowered, context.recording.operators
    issued = operators.start_ns[lowered.dispatch_op]
    ready = np.maximum.accumulate(simulation.schedule.dequeue_end_ns[simulation.rows])
    arrival_ns = np.maximum(simulation.time_map(time_ns), _latest(issued, ready, time_ns, simulation.base_ns))
    tick = np.ceil((arrival_ns - simulation.base_ns) / simulation.tick_ns).astype(np.int64)
    kernel_end = simulation.schedule.kernel_start_ticks + simulation.kernel_ticks
    work = simulation.collectives.calls
    blocking = np.array([collective.blocking for collective in work.collectives], bool)
    work_time = np.concatenate(
        [
            issued[lowered.launch_dispatch],
            np.array([collective.start_ns for collective in work.collectives], np.int64)[blocking],
        ]
    )
    work_end = np.concatenate([kernel_end, (simulation.collectives.start_ticks + work.ticks)[blocking]])
    work_stream = np.concatenate([simulation.stream, work.issuing[blocking]])
    task = np.zeros(len(tick), np.int64)
    for number in np.unique(stream).tolist():
        mark_rows, work_rows = np.flatnonzero(stream == number), np.flatnonzero(work_stream == number)
        work_rows = work_rows[np.argsort(work_time[work_rows], kind="stable")]
        ended = np.maximum.accumulate(work_end[work_rows])
        tick[mark_rows] = np.maximum(tick[mark_rows], _latest(work_time[work_rows], ended, time_ns[mark_rows], 0))
        # Two threads can issue in another order than they arrive.
        tick[mark_rows] = np.maximum.accumulate(tick[mark_rows])
        task[mark_rows] = np.count_nonzero(simulation.stream == number) + np.arange(len(mark_rows))
    return tick, task


def _latest(times: I64, values: I64, at: I64, otherwise: int) -> I64:
    """Return the value of the last of *times* (ascending) before each of *at*."""
    place = np.searchsorted(times, at, side="left") - 1
    if not len(times):
        return np.full(len(at), otherwise, np.int64)
    return np.asarray(np.where(place >= 0, values[np.maximum(place, 0)], otherwise), np.int64)
