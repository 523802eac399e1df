"""Ranges that a framework sets around its collectives while marks are recorded."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64
from drynpu.deliverables.record_context import RecordContext
from drynpu.layouts.marks import MarkKind
from drynpu.simulate import Mark

_DOMAIN = "communication"
"""Domain of such ranges (Ascend/pytorch csrc/profiler/mstx_mgr.h)."""
_STREAM = "{stream_id}"


@frozen(eq=False, kw_only=True)
class CollectiveMarks:
    """
    Ranges whose times are simulated, unlike the times of other marks; shape ``[n]``.

    ``start_tick`` and ``end_tick`` count from the recording's base; ``task`` is the first free number on ``stream``.
    """

    marks: tuple[Mark, ...]
    stream: I64
    start_tick: I64
    end_tick: I64
    task: I64

    @classmethod
    def none(cls) -> CollectiveMarks:
        """Return no ranges."""
        empty = np.empty(0, np.int64)
        return cls(marks=(), stream=empty, start_tick=empty, end_tick=empty, task=empty)


def collective_marks(context: RecordContext) -> CollectiveMarks:
    """
    Return one range per collective that has a mark, in host order.

    On the host it holds the call on the launching thread, on the device the operator on its group's first stream,
    where its markers are numbered after the tasks.
    """
    times = context.simulation.collectives
    work = times.calls
    marked = np.flatnonzero(np.array([bool(collective.mark) for collective in work.collectives], bool))
    stream = work.stream[marked]
    marks = tuple(
        Mark(
            kind=MarkKind.START_END,
            message=work.collectives[index].mark.replace(_STREAM, str(on)),
            start_ns=start_ns,
            end_ns=end_ns,
            thread=thread,
            domain=_DOMAIN,
            stream=on,
            extended=True,
        )
        for index, thread, on, start_ns, end_ns in zip(
            marked.tolist(),
            context.host.collective_threads[marked].tolist(),
            stream.tolist(),
            times.api_start_ns[marked].tolist(),
            times.api_end_ns[marked].tolist(),
            strict=True,
        )
    )
    on_first_plane = np.array([np.count_nonzero(plan_task.plane == 0) for plan_task in work.plans] or [0], np.int64)[
        work.plan
    ]
    numbers, place = np.unique(work.stream, return_inverse=True)
    tasks = np.bincount(place.reshape(-1), on_first_plane, len(numbers)).astype(np.int64)
    start = times.start_ticks[marked]
    return CollectiveMarks(
        marks=marks,
        stream=stream,
        start_tick=start,
        end_tick=start + work.ticks[marked],
        task=tasks[np.searchsorted(numbers, stream)],
    )
