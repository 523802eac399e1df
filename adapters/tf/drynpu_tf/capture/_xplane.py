"""
Route B: TensorFlow's own tracer, read from the planes it leaves (tf_adapters.md 6).

Of all events those are kept that say which node ran where: nodes with the shapes of their inputs, the executors they
ran in, runs of functions, eager calls, and the spans that Keras and scripts set.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import define, field, frozen

from drynpu import CaptureError

__all__ = ["ANCHOR", "Kind", "Planes", "XplaneTracer", "anchor", "read_planes"]

I64 = npt.NDArray[np.int64]

ANCHOR = "drynpu.anchor"
_HOST_PLANE = "/host:CPU"
_LEVEL_WITH_SHAPES = 3
_PS_PER_NS = 1000
_PIPELINE = "tf_data"
"""How the names of the threads of input pipelines begin; what they run is no device's work."""
_SETTLING_S = 0.001
"""What an executor needs to return after its function has: its event is written then."""
_SPANS = frozenset({"train", "TraceContext"})


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
    text: npt.NDArray[np.int32]
    op_type: npt.NDArray[np.int32]
    extra: npt.NDArray[np.int32]
    number: I64
    thread: I64
    start_ns: I64
    end_ns: I64
    texts: tuple[str, ...]

    def rows(self, kind: int) -> I64:
        """Return the rows of one kind."""
        return np.flatnonzero(self.kind == kind)


@define
class _Anchor:
    """One reading of the clock around an event of the tracer's."""

    before_ns: int
    after_ns: int
    thread: int


@define
class XplaneTracer:
    """
    Starts and stops TensorFlow's tracer, and ties its clock and its threads to those of the process.

    Raises
    ------
    CaptureError
        From :meth:`start`, if another profiler (TensorBoard's) is active.
    """

    begin_ns: int = 0
    _session: Any = None
    _folder: Path | None = None
    _anchors: list[_Anchor] = field(factory=list)

    @property
    def active(self) -> bool:
        """Whether it is recording."""
        return self._session is not None

    def start(self) -> None:
        """Start recording."""
        from tensorflow.python.framework import errors
        from tensorflow.python.profiler.internal import _pywrap_profiler

        # What stands in the place of the class lets go of this tracer when a script makes one.
        kind = _pywrap_profiler.ProfilerSession
        session = getattr(kind, "__wrapped__", kind)()
        folder = Path(tempfile.mkdtemp(prefix="drynpu-"))
        options = {"host_tracer_level": _LEVEL_WITH_SHAPES, "python_tracer_level": 0, "device_tracer_level": 0}
        self.begin_ns = time.time_ns()
        try:
            session.start(str(folder), options)
        except errors.AlreadyExistsError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise CaptureError(
                "TensorFlow's own profiler (TensorBoard's) is already recording in this process; only one recording "
                "can run at a time."
            ) from error
        self._session, self._folder = session, folder
        self._anchors.clear()

    def mark(self, thread: int) -> None:
        """Leave an event that says which of the tracer's threads the calling one (OS id *thread*) is, and when."""
        if self._session is not None:
            self._anchors.append(anchor(len(self._anchors), thread))

    def stop(self) -> tuple[Planes, dict[int, int]]:
        """Return what was recorded since :meth:`start` in Unix ns, and the OS ids of the tracer's threads."""
        session, folder = self._session, self._folder
        self._session = self._folder = None
        time.sleep(_SETTLING_S)
        try:
            session.export_to_tb()
            (file,) = Path(str(folder)).glob("plugins/profile/*/*.xplane.pb")
            content = file.read_bytes()
        except (OSError, ValueError) as error:
            raise CaptureError(f"TensorFlow's profiler left nothing that can be read: {error}") from error
        finally:
            shutil.rmtree(str(folder), ignore_errors=True)
        planes = read_planes(content)
        return self._placed(planes)

    def _placed(self, planes: Planes) -> tuple[Planes, dict[int, int]]:
        rows = planes.rows(Kind.ANCHOR)
        found = [(int(row), self._anchors[int(planes.number[row])]) for row in rows]
        # Each anchor begins between two readings of the clock; all together leave a few microseconds.
        low = max((own.before_ns - int(planes.start_ns[row]) for row, own in found), default=self.begin_ns)
        high = min((own.after_ns - int(planes.start_ns[row]) for row, own in found), default=low)
        shift = max(low, (low + high) // 2)
        threads = {int(planes.thread[row]): own.thread for row, own in found}
        placed = {name: getattr(planes, name) + shift for name in ("start_ns", "end_ns")}
        kept = {
            name: getattr(planes, name) for name in ("kind", "text", "op_type", "extra", "number", "thread", "texts")
        }
        return Planes(**kept, **placed), threads


def anchor(number: int, thread: int) -> _Anchor:
    """Leave one numbered event in the running trace."""
    from tensorflow.python.profiler.internal import _pywrap_traceme

    before_ns = time.time_ns()
    event = _pywrap_traceme.TraceMe(ANCHOR, number=number)
    after_ns = time.time_ns()
    event.Stop()
    return _Anchor(before_ns, after_ns, thread)


class _Texts:
    """Distinct texts by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


@frozen
class _Reader:
    """What one plane's numbers mean."""

    kinds: dict[int, tuple[int, int, int]]
    """Of an event's name: kind, text, type."""
    stats: dict[str, int]
    refs: dict[int, str]
    texts: _Texts

    def value(self, event: Any, name: str) -> Any:
        """Return a stat of an event, ``None`` if it has none of that name."""
        wanted = self.stats.get(name)
        for stat in event.stats:
            if stat.metadata_id == wanted:
                member = stat.WhichOneof("value")
                value = getattr(stat, member)
                return self.refs[value] if member == "ref_value" else value
        return None

    def extra(self, event: Any) -> int:
        shapes = self.value(event, "shape")
        return -1 if shapes is None else self.texts.of(shapes)


def read_planes(content: bytes) -> Planes:
    """Read a serialised ``XSpace``; times count from the start of the trace."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    space.ParseFromString(content)
    texts = _Texts()
    parts = [
        _read_line(_reader(plane, texts), line)
        for plane in space.planes
        if plane.name == _HOST_PLANE
        for line in plane.lines
    ]
    table = np.concatenate([np.empty((0, 8), np.int64), *parts])
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


def _reader(plane: Any, texts: _Texts) -> _Reader:
    kinds: dict[int, tuple[int, int, int]] = {}
    for number, event in plane.event_metadata.items():
        shown = event.display_name
        if shown and event.name.endswith(f":{shown}") and "::" not in event.name:
            kinds[number] = (Kind.NODE, texts.of(event.name.removesuffix(f":{shown}")), texts.of(shown))
        elif event.name in _KINDS:
            kinds[number] = (_KINDS[event.name], texts.of(event.name), -1)
        elif event.name in _SPANS:
            kinds[number] = (Kind.SPAN, texts.of(event.name), -1)
    refs = {number: stat.name for number, stat in plane.stat_metadata.items()}
    return _Reader(kinds, {name: number for number, name in refs.items()}, refs, texts)


def _read_line(reader: _Reader, line: Any) -> I64:
    """Return rows ``(kind, text, type, extra, number, thread, start, end)``."""
    pipeline = line.name.startswith(_PIPELINE)
    wanted = {number for number, (kind, _, _) in reader.kinds.items() if not (pipeline and kind == Kind.NODE)}
    events = [event for event in line.events if event.metadata_id in wanted]
    metadata = _column(map(attrgetter("metadata_id"), events), len(events))
    distinct, index = np.unique(metadata, return_inverse=True)
    meaning = np.array([reader.kinds[int(number)] for number in distinct], np.int64).reshape(-1, 3)[index]
    start = _column(map(attrgetter("offset_ps"), events), len(events)) // _PS_PER_NS + line.timestamp_ns
    length = _column(map(attrgetter("duration_ps"), events), len(events)) // _PS_PER_NS
    extra, number = np.full(len(events), -1, np.int64), np.zeros(len(events), np.int64)
    kind, text = meaning[:, 0], meaning[:, 1]

    def fill(column: I64, of: int, value: Callable[[Any], int]) -> None:
        rows = np.flatnonzero(kind == of)
        column[rows] = _column((value(events[row]) for row in rows.tolist()), len(rows))

    fill(extra, Kind.NODE, reader.extra)
    fill(text, Kind.EAGER, lambda event: reader.texts.of(str(reader.value(event, "eager_op") or "")))
    for of, name in (
        (Kind.EXECUTOR, "id"),
        (Kind.FUNCTION, "id"),
        (Kind.DATA, "id"),
        (Kind.PRODUCE, "element_id"),
        (Kind.CONSUME, "element_id"),
        (Kind.EAGER, "is_func"),
        (Kind.SPAN, "step_num"),
        (Kind.ANCHOR, "number"),
    ):
        fill(number, of, lambda event, name=name: int(reader.value(event, name) or 0))  # type: ignore[misc]
    thread = np.full(len(events), line.id, np.int64)
    return np.column_stack([kind, text, meaning[:, 2], extra, number, thread, start, start + length])


def _column(values: Iterable[int] | Sequence[int], length: int) -> I64:
    return np.fromiter(values, np.int64, length)
