"""
The planes that TensorFlow's tracer leaves (``xplane.proto``), read in columns.

Of all events those are kept that say which node ran where: nodes with the shapes of their inputs, the executors they
ran in, runs of functions, eager calls, data taken from iterators, and the spans that Keras and scripts set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from drynpu.arrays import I32, I64, Bools
from drynpu_tf.capture._wire import Wire

ANCHOR = "drynpu.anchor"
_HOST_PLANE = "/host:CPU"
_PS_PER_NS = 1000
_PIPELINE = "tf_data"
"""How the names of the threads of input pipelines begin; what they run is no device's work."""
_SPANS = frozenset({"train", "TraceContext"})
"""Steps as Keras and as ``tf.profiler.experimental.Trace`` name them."""

_SPACE_PLANES, _PLANE_LINES, _LINE_EVENTS = 1, 3, 4
_EVENT_METADATA, _EVENT_OFFSET_PS, _EVENT_DURATION_PS, _EVENT_STATS = 1, 2, 3, 4
_STAT_METADATA, _STAT_UINT64, _STAT_INT64, _STAT_TEXT, _STAT_REFERENCE = 1, 3, 4, 5, 7
"""Numbers of fields in ``xplane.proto``."""


class Kind:
    """What an event is; values of ``Planes.kind``."""

    NODE = 0
    EXECUTOR = 1
    FUNCTION = 2
    EAGER = 3
    SPAN = 4
    ANCHOR = 5
    DATA = 6
    PREFETCH = 7
    PRODUCE = 8
    CONSUME = 9


_KINDS = {
    "ExecutorState::Process": Kind.EXECUTOR,
    "FunctionRun": Kind.FUNCTION,
    "EagerExecute": Kind.EAGER,
    "IteratorGetNextOp::DoCompute": Kind.DATA,
    "Iterator::Root::Prefetch": Kind.PREFETCH,
    "PrefetchProduce": Kind.PRODUCE,
    "PrefetchConsume": Kind.CONSUME,
    ANCHOR: Kind.ANCHOR,
}
_NUMBERS = {
    Kind.EXECUTOR: "id",
    Kind.FUNCTION: "id",
    Kind.DATA: "id",
    Kind.PRODUCE: "element_id",
    Kind.CONSUME: "element_id",
    Kind.EAGER: "is_func",
    Kind.SPAN: "step_num",
    Kind.ANCHOR: "number",
}
"""The stat that ``Planes.number`` holds."""


@frozen(eq=False, kw_only=True)
class Planes:
    """
    Events of one stretch, sorted by ``(start_ns, -end_ns)``; columns have shape ``[n]``.

    ``text`` indexes ``texts``: the node of a NODE, the operator of an EAGER, the name of a SPAN. ``extra`` indexes
    ``texts`` for the shapes of a NODE's inputs (-1 unknown). ``number`` is the run of an EXECUTOR or FUNCTION, the run
    that a DATA takes data for, the element of a PRODUCE or CONSUME, whether an EAGER is a function, the step of a SPAN,
    the number of an ANCHOR. ``thread`` is the tracer's own number.
    """

    kind: npt.NDArray[np.int8]
    text: I32
    op_type: I32
    extra: I32
    number: I64
    thread: I64
    start_ns: I64
    end_ns: I64
    texts: tuple[str, ...]

    def rows(self, kind: int) -> I64:
        """Return the rows of one kind."""
        return np.flatnonzero(self.kind == kind)


@define
class _Texts:
    """Distinct texts by number."""

    numbers: dict[str, int] = field(factory=dict)

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


@frozen(eq=False)
class _Meaning:
    """What one plane's numbers mean."""

    events: I64
    """Metadata of the events that are kept, ascending."""
    kinds: I64
    """For each of them kind, text, type."""
    stats: dict[str, int]
    refs: dict[int, str]
    texts: _Texts

    @classmethod
    def from_plane(cls, plane: Any, texts: _Texts) -> _Meaning:
        kinds: dict[int, tuple[int, int, int]] = {}
        for number, event in plane.event_metadata.items():
            shown = event.display_name
            if shown and event.name.endswith(f":{shown}") and "::" not in event.name:
                kinds[number] = (Kind.NODE, texts.number(event.name.removesuffix(f":{shown}")), texts.number(shown))
            elif event.name in _KINDS:
                kinds[number] = (_KINDS[event.name], texts.number(event.name), -1)
            elif event.name in _SPANS:
                kinds[number] = (Kind.SPAN, texts.number(event.name), -1)
        events = sorted(kinds)
        refs = {number: stat.name for number, stat in plane.stat_metadata.items()}
        return cls(
            events=np.array(events, np.int64),
            kinds=np.array([kinds[number] for number in events], np.int64).reshape(-1, 3),
            stats={name: number for number, name in refs.items()},
            refs=refs,
            texts=texts,
        )

    def place(self, metadata: I64) -> I64:
        """Return where in ``events`` the metadata are, -1 for events that are not kept."""
        if not len(self.events):
            return np.full(len(metadata), -1, np.int64)
        place = np.minimum(np.searchsorted(self.events, metadata), len(self.events) - 1)
        return np.where(self.events[place] == metadata, place, -1)


@frozen(eq=False)
class _Stats:
    """The stats of one line's events: which event has it, what it is called, the number or text it holds."""

    wire: Wire
    meaning: _Meaning
    event: I64
    metadata: I64
    member: I64
    value: I64
    end: I64

    @classmethod
    def read(cls, wire: Wire, meaning: _Meaning, event: I64, begin: I64, end: I64) -> _Stats:
        fields = wire.fields(begin, end)
        columns = {"member": np.zeros(len(begin), np.int64), "value": np.zeros(len(begin), np.int64), "end": end.copy()}
        for member in (_STAT_UINT64, _STAT_INT64, _STAT_TEXT, _STAT_REFERENCE):
            stat, value, stop = fields.numbered(member)
            columns["member"][stat], columns["value"][stat], columns["end"][stat] = member, value, stop
        return cls(wire, meaning, event, fields.column(_STAT_METADATA, len(begin)), **columns)

    def numbers(self, column: I64, name: str, rows: Bools) -> None:
        """Put the numbers called *name* into the *rows* (a mask) of a column."""
        stats = self._called(name, rows)
        stats = stats[(self.member[stats] == _STAT_UINT64) | (self.member[stats] == _STAT_INT64)]
        column[self.event[stats]] = self.value[stats]

    def texts(self, column: I64, name: str, rows: Bools) -> None:
        """Put the texts called *name* into the *rows* (a mask) of a column, by their numbers."""
        stats = self._called(name, rows)
        references = stats[self.member[stats] == _STAT_REFERENCE]
        distinct, index = np.unique(self.value[references], return_inverse=True)
        texts = [self.meaning.texts.number(self.meaning.refs.get(number, "")) for number in distinct.tolist()]
        column[self.event[references]] = np.array(texts, np.int64)[index]
        # TensorFlow writes every text once, as metadata; a text in the event itself is another writer's.
        for row in stats[self.member[stats] == _STAT_TEXT].tolist():
            text = self.wire.content[int(self.value[row]) : int(self.end[row])].decode(errors="replace")
            column[self.event[row]] = self.meaning.texts.number(text)

    def _called(self, name: str, rows: Bools) -> I64:
        # Backwards: of two stats with one name the first one counts, which is written last.
        return np.flatnonzero((self.metadata == self.meaning.stats.get(name, -1)) & rows[self.event])[::-1]


def read_planes(content: bytes) -> Planes:
    """
    Read a serialised ``XSpace``; times count from the start of the trace.

    Raises
    ------
    ValueError
        The bytes are none.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    wire, texts = Wire.from_bytes(content), _Texts()
    # A trace without lines has a table as well.
    parts = [np.empty((0, 8), np.int64)]
    for begin, end in _messages(wire, 0, len(content), _SPACE_PLANES)[0]:
        lines, rest = _messages(wire, begin, end, _PLANE_LINES)
        try:
            plane = xplane_pb2.XPlane.FromString(rest)
        except DecodeError as error:
            raise ValueError(f"no plane in bytes {begin} to {end}: {error}") from error
        if plane.name == _HOST_PLANE:
            meaning = _Meaning.from_plane(plane, texts)
            parts += [_read_line(wire, meaning, *line, xplane_pb2) for line in lines]
    table = np.concatenate(parts)
    table = table[np.lexsort((-table[:, 7], table[:, 6]))]
    kind, text, op_type, extra, number, thread, start, end = table.T
    return Planes(
        kind=kind.astype(np.int8),
        text=text.astype(np.int32),
        op_type=op_type.astype(np.int32),
        extra=extra.astype(np.int32),
        number=number,
        thread=thread,
        start_ns=start,
        end_ns=end,
        texts=tuple(texts.numbers),
    )


def _messages(wire: Wire, begin: int, end: int, number: int) -> tuple[list[tuple[int, int]], bytes]:
    begins, ends, rest = wire.split(begin, end, number)
    return list(zip(begins.tolist(), ends.tolist(), strict=True)), rest


def _read_line(wire: Wire, meaning: _Meaning, begin: int, end: int, xplane_pb2: Any) -> I64:
    """Return rows ``(kind, text, type, extra, number, thread, start, end)``."""
    begins, ends, rest = wire.split(begin, end, _LINE_EVENTS)
    line = xplane_pb2.XLine.FromString(rest)
    # Most events are none of those that are kept; their first field says so.
    number, value = wire.first(begins, ends)
    kept = np.flatnonzero((number != _EVENT_METADATA) | (meaning.place(value) >= 0))
    fields = wire.fields(begins[kept], ends[kept])
    place = meaning.place(fields.column(_EVENT_METADATA, len(kept)))
    stat_event, stat_begin, stat_end = fields.numbered(_EVENT_STATS)
    stats = _Stats.read(wire, meaning, stat_event, stat_begin, stat_end)
    start = fields.column(_EVENT_OFFSET_PS, len(kept)) // _PS_PER_NS + line.timestamp_ns
    stop = start + fields.column(_EVENT_DURATION_PS, len(kept)) // _PS_PER_NS
    kind, text, op_type = np.append(meaning.kinds, [[-1, -1, -1]], axis=0)[place].T.copy()
    extra, numbers = np.full(len(kept), -1, np.int64), np.zeros(len(kept), np.int64)
    stats.texts(extra, "shape", kind == Kind.NODE)
    eager = kind == Kind.EAGER
    text[eager] = meaning.texts.number("") if eager.any() else -1
    stats.texts(text, "eager_op", eager)
    for numbered, name in _NUMBERS.items():
        stats.numbers(numbers, name, kind == numbered)
    wanted = (place >= 0) & ~((kind == Kind.NODE) & line.name.startswith(_PIPELINE))
    thread = np.full(len(kept), line.id, np.int64)
    rows: I64 = np.column_stack([kind, text, op_type, extra, numbers, thread, start, stop])[wanted]
    return rows
