"""User marks: msproftx records of the host, and what marks with a stream leave on the device."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables.marks._collective_marks import CollectiveMarks, collective_marks
from drynpu.deliverables.marks._marks_device import device_ticks
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.step_form import step_form
from drynpu.kernels import occurrences
from drynpu.layouts import graph as graph_facts
from drynpu.layouts import marks as facts
from drynpu.layouts.marks import DEFAULT_DOMAIN, MarkKind, MarkPart
from drynpu.raw import MODEL_ID_NONE
from drynpu.simulate import Mark

_TEXT_BYTES = facts.MESSAGE_BYTES - 1
_MARK_TAG, _RANGE_TAG = 11, 12
"""Tags of the step trace (Ascend/msprof msproftx_model): a mark leaves one record, a range two of equal index."""
_INSTANTS = (MarkKind.POINT.value, MarkKind.EXTENDED_POINT.value)
_TASK_IDS = 2**16


def build(context: RecordContext) -> GroupRecords:
    """
    Return the user marks that the domain filters let pass.

    A mark of the mstx library (``extended``), with a stream or a domain of its own, or of the kind ``MARKER_EX``, has
    an extended record, with an id and the domain; longer messages take several. Others have a plain one, which has no
    domain, and whose message is cut.
    Host times are measured and lie on the recording's timeline; times on the device are modelled: a marker takes no
    time and starts when it arrived and the work before it on its stream has ended. Its task id follows the ids of the
    kernels of its stream. Ranges around collectives are simulated on both sides.
    """
    if not context.request.switches.tx:
        return GroupRecords()
    times = _gather(context)
    if not times.marks:
        return GroupRecords()
    is_extended = np.fromiter((_extended(mark) for mark in times.marks), bool, len(times.marks))
    mark_id = context.host.mark_numbers.number(is_extended)
    host = _host_records(context, times, is_extended, mark_id)
    return GroupRecords(
        host={"msproftx": host}, device=step_form(_device_records(context, times, mark_id), context.chip.platform)
    )


@frozen(eq=False, kw_only=True)
class _Times:
    """Marks by start; host times in ns of the recording's timeline. ``around`` are marks of collectives."""

    marks: list[Mark]
    start_ns: I64
    end_ns: I64
    order: I64
    """Place of each among the ``user_count`` marks of the user followed by the marks of ``around``."""
    user_count: int
    around: CollectiveMarks

    @property
    def of_user(self) -> Bools:
        """Which are the user's own."""
        return np.asarray(self.order < self.user_count)


def _gather(context: RecordContext) -> _Times:
    filters = context.request.filters
    include, exclude = set(filters.tx_domains_include), set(filters.tx_domains_exclude)

    def passes(mark: Mark) -> bool:
        return (not include or mark.domain in include) and mark.domain not in exclude

    user_marks = sorted((mark for mark in context.recording.marks if passes(mark)), key=attrgetter("start_ns"))
    around = collective_marks(context)
    around = around if all(map(passes, around.marks)) else around.none()
    marks = [*user_marks, *around.marks]
    start, end = (
        np.concatenate([context.simulation.time_map(_column(user_marks, name)), _column(list(around.marks), name)])
        for name in ("start_ns", "end_ns")
    )
    order = np.argsort(start, kind="stable")
    return _Times(
        marks=[marks[index] for index in order.tolist()],
        start_ns=start[order],
        end_ns=end[order],
        order=order,
        user_count=len(user_marks),
        around=around,
    )


def _extended(mark: Mark) -> bool:
    return (
        mark.extended
        or mark.stream is not None
        or mark.kind is MarkKind.EXTENDED_POINT
        or mark.domain != DEFAULT_DOMAIN
    )


def _column(marks: list[Mark], name: str) -> I64:
    return np.fromiter(map(attrgetter(name), marks), np.int64, len(marks))


def _host_records(context: RecordContext, times: _Times, is_extended: Bools, mark_id: I64) -> Records:
    marks = times.marks
    distinct = {message: number for number, message in enumerate(dict.fromkeys(mark.message for mark in marks))}
    parts = [_segments(message) for message in distinct]
    pieces = np.array([piece for segments in parts for piece in segments], f"S{facts.MESSAGE_BYTES}")
    count = np.array([len(segments) for segments in parts])
    first = np.cumsum(count) - count
    message = np.fromiter((distinct[mark.message] for mark in marks), np.int64, len(marks))
    repeats = np.where(is_extended, count[message], 1)
    owner = np.repeat(np.arange(len(marks)), repeats)
    segment = np.arange(len(owner)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    start, end = times.start_ns + context.to_raw_ns, times.end_ns + context.to_raw_ns
    domains = {domain: number for number, domain in enumerate(dict.fromkeys(mark.domain for mark in marks))}
    domain = context.texts.ids(list(domains))[[domains[mark.domain] for mark in marks]]
    rows = facts.MSPROFTX.new(len(owner))
    rows["info_type"] = np.where(is_extended, int(MarkPart.EXTENDED_MARK), int(MarkPart.MARK))[owner]
    rows["segment"], rows["pid"] = segment, context.destination.pid
    rows["thread_id"] = rows["tid"] = _column(marks, "thread")[owner]
    rows["event_type"] = _column(marks, "kind.value")[owner]
    for name in ("category", "payload_type", "message_type"):
        rows[name] = _column(marks, name)[owner]
    rows["payload"] = np.fromiter((mark.payload % 2**64 for mark in marks), np.uint64, len(marks))[owner]
    rows["timestamp"] = rows["start"] = start[owner]
    rows["end"] = np.maximum(start, end)[owner]
    rows["mark_id"], rows["domain"] = mark_id[owner], np.where(is_extended, domain, 0)[owner]
    rows["message"] = pieces[first[message[owner]] + segment]
    return rows


def _segments(message: str) -> list[bytes]:
    """Cut a message where characters end; a zero byte would end it early."""
    data = message.replace("\0", " ").encode("utf-8", "replace")
    pieces = []
    while len(data) > _TEXT_BYTES:
        cut = _TEXT_BYTES
        while data[cut] & 0xC0 == 0x80:
            cut -= 1
        pieces.append(data[:cut])
        data = data[cut:]
    return [*pieces, data]


def _device_records(context: RecordContext, times: _Times, mark_id: I64) -> Records:
    ids, stream, is_range, tick, task = (
        np.concatenate(parts)
        for parts in zip(_of_user(context, times, mark_id), _of_collectives(times, mark_id), strict=True)
    )
    order = np.argsort(tick, kind="stable")
    rows = graph_facts.TS_TRACK_STEP.new(len(tick))
    rows["tick"] = tick[order] + context.anchors.device_cntvct
    rows["index_id"], rows["model_id"] = ids[order], MODEL_ID_NONE
    rows["stream_id"], rows["task_id"] = stream[order], task[order] % _TASK_IDS
    rows["tag_id"] = np.where(is_range[order] > 0, _RANGE_TAG, _MARK_TAG)
    return rows


def _of_user(context: RecordContext, times: _Times, mark_id: I64) -> tuple[I64, ...]:
    """Return id, stream, whether it is a range, tick and task of every marker of the user's own marks."""
    rows = np.flatnonzero(times.of_user & np.array([mark.stream is not None for mark in times.marks]))
    marks = [times.marks[row] for row in rows.tolist()]
    stream = np.array([mark.stream for mark in marks], np.int64)
    is_range = 1 - np.isin(_column(marks, "kind.value"), _INSTANTS).astype(np.int64)
    # The begin of every marker, then the end of every range; on the measured timeline, where work was issued.
    marker = np.concatenate([np.arange(len(stream)), np.flatnonzero(is_range)])
    time = np.concatenate([_column(marks, "start_ns"), _column(marks, "end_ns")[is_range > 0]])
    order = np.argsort(time, kind="stable")
    marker, time = marker[order], time[order]
    tick, task = device_ticks(context, time, stream[marker])
    return mark_id[rows][marker], stream[marker], is_range[marker], tick, task


def _of_collectives(times: _Times, mark_id: I64) -> tuple[I64, ...]:
    """Return the same of the markers around collectives, in order of time."""
    around = times.around
    rows = np.flatnonzero(~times.of_user)
    number = times.order[rows] - times.user_count
    both = np.concatenate([around.start_tick[number], around.end_tick[number]])
    order = np.argsort(both, kind="stable")
    marker = np.concatenate([np.arange(len(rows))] * 2)[order]
    stream = around.stream[number][marker]
    task = around.task[number][marker] + occurrences(stream)
    return mark_id[rows][marker], stream, np.ones(len(marker), np.int64), both[order], task
