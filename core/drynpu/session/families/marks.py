"""User marks: msproftx records of the host, and what marks with a stream leave on the device."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from drynpu.raw import MODEL_ID_NONE, TxInfo, family, layouts
from drynpu.session._inputs import TxKind, TxMark
from drynpu.session.families._context import FamilyRecords, RecordContext
from drynpu.session.families._marks_device import device_ticks

__all__ = ["build"]

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

_TEXT_BYTES = layouts.TX_MESSAGE_BYTES - 1
_DEFAULT_DOMAIN = "default"
_MARK_TAG, _RANGE_TAG = 11, 12
"""Tags of the step trace (Ascend/msprof msproftx_model): a mark leaves one record, a range two of equal index."""
_INSTANTS = (TxKind.MARKER.value, TxKind.MARKER_EX.value)
_TASK_IDS = 2**16


def build(context: RecordContext) -> FamilyRecords:
    """
    Return the user marks that the domain filters let pass.

    A mark of the mstx library (``extended``), with a stream or a domain of its own, or of the kind ``MARKER_EX``, has
    an extended record, with an id and the domain; longer messages take several. Others have a plain one, which has no
    domain, and whose message is cut.
    Host times are measured and lie on the recording's timeline; times on the device are modelled: a marker takes no
    time and starts when it arrived and the work before it on its stream has ended. Its task id follows those of the
    kernels of its stream.
    """
    filters = context.request.filters
    include, exclude = set(filters.tx_domains_include), set(filters.tx_domains_exclude)
    marks = [
        mark
        for mark in context.recording.tx_marks
        if (not include or mark.domain in include) and mark.domain not in exclude
    ]
    if not context.request.switches.tx or not marks:
        return FamilyRecords()
    marks.sort(key=attrgetter("start_ns"))
    is_extended = np.fromiter((_extended(mark) for mark in marks), bool, len(marks))
    mark_id = np.where(is_extended, np.cumsum(is_extended), 0)
    host = _host_records(context, marks, is_extended, mark_id)
    return FamilyRecords(host={"msproftx": host}, device={"ts_track_step": _device_records(context, marks, mark_id)})


def _extended(mark: TxMark) -> bool:
    return mark.extended or mark.stream is not None or mark.kind is TxKind.MARKER_EX or mark.domain != _DEFAULT_DOMAIN


def _column(marks: list[TxMark], name: str) -> I64:
    return np.fromiter(map(attrgetter(name), marks), np.int64, len(marks))


def _host_records(
    context: RecordContext, marks: list[TxMark], is_extended: npt.NDArray[np.bool_], mark_id: I64
) -> Records:
    distinct = {message: number for number, message in enumerate(dict.fromkeys(mark.message for mark in marks))}
    parts = [_segments(message) for message in distinct]
    pieces = np.array([piece for of in parts for piece in of], f"S{layouts.TX_MESSAGE_BYTES}")
    count = np.array([len(of) for of in parts])
    first = np.cumsum(count) - count
    message = np.fromiter((distinct[mark.message] for mark in marks), np.int64, len(marks))
    repeats = np.where(is_extended, count[message], 1)
    owner = np.repeat(np.arange(len(marks)), repeats)
    segment = np.arange(len(owner)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    start = context.simulation.warp(_column(marks, "start_ns")) + context.to_raw_ns
    end = context.simulation.warp(_column(marks, "end_ns")) + context.to_raw_ns
    domains = {domain: number for number, domain in enumerate(dict.fromkeys(mark.domain for mark in marks))}
    domain = context.texts.of(list(domains))[[domains[mark.domain] for mark in marks]]
    rows = family("msproftx").new(len(owner))
    rows["info_type"] = np.where(is_extended, int(TxInfo.EXTENDED_MARK), int(TxInfo.MARK))[owner]
    rows["segment"], rows["pid"] = segment, context.target.pid
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


def _device_records(context: RecordContext, marks: list[TxMark], mark_id: I64) -> Records:
    on_device = np.array([mark.stream is not None for mark in marks])
    stream = np.array([mark.stream or 0 for mark in marks])[on_device]
    is_range = ~np.isin(_column(marks, "kind.value"), _INSTANTS)[on_device]
    # The begin of every marker, then the end of every range.
    of = np.concatenate([np.arange(len(stream)), np.flatnonzero(is_range)])
    time = np.concatenate([_column(marks, "start_ns")[on_device], _column(marks, "end_ns")[on_device][is_range]])
    order = np.argsort(time, kind="stable")
    of, time = of[order], time[order]
    tick, task = device_ticks(context, time, stream[of])
    rows = family("ts_track_step").new(len(of))
    rows["tick"] = tick + context.anchors.device_cntvct
    rows["index_id"], rows["model_id"] = mark_id[on_device][of], MODEL_ID_NONE
    rows["stream_id"], rows["task_id"] = stream[of], task % _TASK_IDS
    rows["tag_id"] = np.where(is_range[of], _RANGE_TAG, _MARK_TAG)
    return rows
