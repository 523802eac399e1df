"""A whole recording: chunks that are cut at step boundaries and joined into one table of operators."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu import without_collections
from drynpu.arrays import I32, I64, Bools
from drynpu.device import cut_crossings
from drynpu.kernels import Accesses, Allocations, Operators, Signature, used_entries
from drynpu.recorder import SAVE_INTERVAL_NS, OptionalParts
from drynpu.simulate import GraphRun, HostCall, PythonFrames
from drynpu_torch.capture._chunk import USER_SCOPE, Chunk
from drynpu_torch.capture._communication import functional_waits, without_transport
from drynpu_torch.capture._flops import FlopFormula, flop_ranges
from drynpu_torch.capture._garbage import collection_costs, garbage_collections
from drynpu_torch.capture._graphs import place_graphs
from drynpu_torch.capture._host_calls import HostCallRecorder
from drynpu_torch.capture._native import Marks, accesses_of, place_native
from drynpu_torch.capture._patches import automatic_marks, loaders_on_host
from drynpu_torch.capture._placements import PLACEMENTS, placements, sink_rows, stated_launches
from drynpu_torch.capture._ranges import OpenRanges, RangeCut, joined_ranges
from drynpu_torch.capture._stacks import (
    engine_threads,
    no_frames,
    python_frames,
    stack_columns,
    without_stacks,
)
from drynpu_torch.capture._tracer import Tracer
from drynpu_torch.device import COPY_TO_HOST
from drynpu_torch.distributed import CollectiveCapture, Communication, Issued
from drynpu_torch.rules import signature_from_kineto

V = TypeVar("V")

_SHOWN_AS = {COPY_TO_HOST: "aten::to"}
_CHUNK_EVENTS = 30_000
"""Events after which a recording is cut: memory stays bounded, and the cost of cutting is spread over many events."""
_COLLECTIVES = "collectives"


@frozen(eq=False, kw_only=True)
class CapturedTorch:
    """The captured data of one recording, on the measured host timeline (Unix ns)."""

    operators: Operators
    allocations: Allocations
    device_calls: HostCallRecorder
    begin_ns: int
    end_ns: int
    frames: PythonFrames
    garbage_ns: tuple[tuple[int, int], ...] = ()
    results: tuple[object, ...] = ()
    """The objects that Kineto returned, if they are kept."""
    taken_over: bool = False
    """Whether another profiler was started meanwhile and got operators of this recording."""
    follows_threads: bool = True
    """Whether threads that Python started are in it, too."""
    delays: I64 = field(factory=lambda: np.empty((0, 2), np.int64))
    """A time and how long a thread had waited for a processor of this machine shortly before, in ns, ``[n, 2]``."""
    accesses: Accesses | None = None
    """Which memory each operator touched; ``None`` if the recorder does not know it."""
    communication: Communication = field(factory=Communication)


@define(kw_only=True)
class Capture:
    """
    One recording, in chunks.

    :meth:`step` is called at every step boundary, when no operator is open. It cuts once the chunk is expected to hold
    ``chunk_events`` events, or has lasted ``chunk_ns``. ``on_chunk`` gets each chunk when it is cut, as a function that
    returns what was captured since the one before; it may be called in another thread. A recording whose results are
    kept is cut by :meth:`cut` alone and not handed on, because PyTorch's analyses take one result.

    ``automatic_marks`` switches the ranges on that the vendor sets by itself. ``flop_formulas`` are the functions whose
    calls show their floating point operations in ranges, ``None`` for none. ``gc_threshold_ms`` is the shortest garbage
    collection to record, ``None`` for none at all. ``announced`` says that other ranks record at the same time.
    ``parts`` gathers all but the operators.
    """

    tracer: Tracer
    device_calls: HostCallRecorder = field(factory=HostCallRecorder)
    chunk_events: int = _CHUNK_EVENTS
    chunk_ns: int = SAVE_INTERVAL_NS
    on_chunk: Callable[[Callable[[], CapturedTorch]], object] | None = None
    automatic_marks: bool = False
    flop_formulas: Mapping[str, FlopFormula] | None = None
    gc_threshold_ms: float | None = None
    announced: bool = True
    parts: OptionalParts = field(factory=OptionalParts)
    _patches: contextlib.ExitStack = field(factory=contextlib.ExitStack)
    _chunks: list[Chunk] = field(factory=list)
    _steps_in_chunk: int = 0
    _events_per_step: float = 0.0
    _garbage_ns: list[tuple[int, int]] = field(factory=list)
    _delays: list[tuple[int, int]] = field(factory=list)
    _ranges: OpenRanges = field(factory=OpenRanges)
    _begun_ns: int = 0
    _delivered: Place = field(factory=lambda: Place())

    def start(self) -> None:
        """Start recording. Raises `CaptureError` if another profiler is active."""
        communication = CollectiveCapture(self.device_calls, announced=self.announced)
        # Before the tracer, which would record its calls of PyTorch as the script's.
        self.parts.gather(_COLLECTIVES, communication.start, None)
        try:
            self._begin()
        except BaseException:
            communication.stop()
            raise
        self.device_calls.communication, self.device_calls.capture = communication, self
        if self.tracer.library is not None:
            self.tracer.library.note_calls(wanted=True)
        self._resume()
        self._patch("what data loaders do on the host", loaders_on_host, None)
        self._patch("work of other threads", self.tracer.threads.watched, None)
        self._patch("ranges across a cut", self._ranges.watched, None)
        threshold_ms = self.gc_threshold_ms
        if threshold_ms is not None:
            self._garbage_ns = self._patch("garbage collections", lambda: garbage_collections(threshold_ms), [])
        else:
            library = self.tracer.library
            note = self._note_collection if library is None else library.note_collection
            self._patch("delays by garbage collections", lambda: collection_costs(note), None)
        if self.automatic_marks:
            self._patch("the marks of data loaders and checkpoints", automatic_marks, None)
        formulas = self.flop_formulas
        if formulas is not None:
            self._patch("floating point operations (with_flops)", lambda: flop_ranges(formulas), None)

    def _note_collection(self, cost_ns: int) -> None:
        self._delays.append((time.time_ns(), cost_ns))

    def _patch(self, part: str, begin: Callable[[], contextlib.AbstractContextManager[V]], instead: V) -> V:
        """Enter what *begin* returns until the recording stops."""
        return self._patches.enter_context(self.parts.during(part, begin, instead))

    def _resume(self) -> None:
        self.parts.gather("Python frames of the recording thread", self.tracer.resume, None)

    def step(self) -> None:
        """
        End a step, and cut here if the chunk has grown large.

        All of it is a pause of the profiler, also without a cut: it parts what the host does before the boundary from
        what it does behind it. Between two dispatches the share of each would follow from how long this machine took.
        """
        begin_ns = time.time_ns()
        self._resume()
        self._cut_if_large()
        self.device_calls.pause(begin_ns, time.time_ns())

    def cut(self, place: Place, use: Callable[[CapturedTorch], object]) -> Place:
        """
        Cut here, call *use* with what was captured since *place*, and return the place of the cut.

        It is as good as a recording, but that ranges which are open at a cut end there. What *use* does is not
        recorded. No operator may be open. Where no cut is possible, nothing is used, and *place* comes back.
        """
        if not self._can_be_cut:
            return place
        begin_ns = time.time_ns()
        with self._between_chunks():
            noted, following = self._noted_since(place)
            # A thread stays on its stream, whenever it was selected.
            noted.streams = self.device_calls.streams
            use(_part(self.tracer, self.parts, self._chunks[place.chunks :], noted))
        self.device_calls.pause(begin_ns, time.time_ns())
        return following

    def take(self) -> CapturedTorch:
        """
        Cut here, and return what was captured since the last time and forget it.

        It is what :meth:`cut` hands on, wherever the cut is: the caller knows that no operator is open in any thread.
        """
        calls, recorder = self.device_calls, self.device_calls.communication
        with self._between_chunks():
            noted, _ = self._noted_since(Place())
            captured = _part(self.tracer, self.parts, self._chunks, noted)
            for buffer in (self._chunks, calls.calls, calls.graphs, self._garbage_ns):
                buffer.clear()
            if recorder is not None:
                recorder.issued.clear()
            # A thread stays on its stream, whenever it was selected.
            calls.streams[:] = {thread: (time_ns, thread, stream) for time_ns, thread, stream in calls.streams}.values()
        return captured

    @property
    def _can_be_cut(self) -> bool:
        # What another thread is inside of would write into the memory that the tracer gives back.
        return not (self._ranges.elsewhere or self.tracer.threads.busy)

    def _cut_if_large(self) -> None:
        if self.tracer.keep_results:
            return
        self._steps_in_chunk += 1
        expected = self._steps_in_chunk * self._events_per_step
        lasted_ns = time.time_ns() - self._begun_ns
        if self._events_per_step and expected < self.chunk_events and lasted_ns < self.chunk_ns:
            return
        if self._can_be_cut:
            with self._between_chunks():
                pass

    @contextlib.contextmanager
    def _between_chunks(self) -> Iterator[None]:
        """End a chunk, and begin the next one at the end."""
        steps, ended = self._steps_in_chunk, self._ranges.end()
        with without_collections():
            self._chunks.append(self._stop_tracer())
        self._take_native_calls()
        if steps:
            self._events_per_step = len(self._chunks[-1].name) / steps or 1.0
        middle_ns = time.time_ns()
        try:
            yield
        finally:
            self._begin()
            self._ranges.resume(ended, middle_ns)
            self._give()

    def _stop_tracer(self) -> Chunk:
        """Return what was recorded; collections of garbage that are not to be shown count as delays of the thread."""
        chunk = self.tracer.stop()
        collections = np.array(self._delays, np.int64).reshape(-1, 2)
        self._delays.clear()
        return evolve(chunk, delays=np.concatenate([chunk.delays, collections]))

    def _give(self) -> None:
        """Hand the last chunk on, with what the listeners noted meanwhile."""
        if self.on_chunk is None or self.tracer.keep_results:
            return
        noted, self._delivered = self._noted_since(self._delivered)
        part = functools.partial(_saved, self.tracer, self.parts, self._chunks[-1:], noted)
        on_chunk = self.on_chunk
        self.parts.gather("steps for the case of a kill", lambda: on_chunk(part), None)

    def _noted_since(self, place: Place) -> tuple[_Noted, Place]:
        calls, recorder = self.device_calls, self.device_calls.communication
        issued = [] if recorder is None else recorder.issued
        lists: tuple[Sequence[Any], ...] = (calls.calls, calls.streams, calls.graphs, self._garbage_ns, issued)
        following = Place(len(self._chunks), tuple(map(len, lists)))
        entries = (each[begin:end] for each, begin, end in zip(lists, place.noted, following.noted, strict=True))
        return _Noted(*entries), following

    def stop(self) -> CapturedTorch:
        """Stop recording and join the chunks."""
        self._ranges.end()
        self._patches.close()
        self._chunks.append(self._stop_tracer())
        self._take_native_calls()
        if self.tracer.library is not None:
            self.tracer.library.note_calls(wanted=False)
        self._give()
        recorder = self.device_calls.communication
        self.device_calls.communication = self.device_calls.capture = None
        communication = Communication()
        if recorder is not None:
            communication = self.parts.gather(_COLLECTIVES, recorder.stop, communication)
        chunks = [without_transport(chunk, self.tracer.names) for chunk in self._chunks]
        captured = _join(self.tracer, self.parts, chunks, self.device_calls, self._ranges.cuts)
        self.device_calls.calls.extend(functional_waits(captured.operators))
        return evolve(
            captured,
            communication=communication,
            garbage_ns=tuple(self._garbage_ns),
            results=tuple(self.tracer.results),
            taken_over=self.tracer.taken_over,
            follows_threads=self.tracer.follows_threads,
        )

    def _take_native_calls(self) -> None:
        if self.tracer.library is not None:
            self.device_calls.add_native(self.tracer.library.take_calls())

    def _begin(self) -> None:
        self._steps_in_chunk, self._begun_ns = 0, time.time_ns()
        self.tracer.start()


@frozen
class Place:
    """How far a recording has come: its chunks so far, and the entries of the lists that grow (`_Noted`)."""

    chunks: int = 0
    noted: tuple[int, ...] = (0, 0, 0, 0, 0)


@define
class _Noted:
    """What listeners noted in a part of a recording."""

    calls: Sequence[HostCall]
    streams: Sequence[tuple[int, int, int]]
    graphs: Sequence[GraphRun]
    garbage_ns: Sequence[tuple[int, int]]
    issued: Sequence[Issued]


def _saved(tracer: Tracer, parts: OptionalParts, chunks: Sequence[Chunk], noted: _Noted) -> CapturedTorch:
    """Return what was captured in some chunks to the thread that writes it."""
    if tracer.library is not None:
        tracer.library.watch_this_thread()
    return _part(tracer, parts, chunks, noted)


def _part(tracer: Tracer, parts: OptionalParts, chunks: Sequence[Chunk], noted: _Noted) -> CapturedTorch:
    """Return what was captured in some chunks, as if that were the recording."""
    recorder = HostCallRecorder(calls=list(noted.calls), streams=list(noted.streams), graphs=list(noted.graphs))
    captured = _join(tracer, parts, [without_transport(chunk, tracer.names) for chunk in chunks], recorder, ())
    recorder.calls.extend(functional_waits(captured.operators))
    return evolve(
        captured,
        operators=used_entries(captured.operators),
        communication=Communication(issued=noted.issued),
        garbage_ns=tuple(noted.garbage_ns),
    )


def _join(
    tracer: Tracer,
    parts: OptionalParts,
    chunks: list[Chunk],
    device_calls: HostCallRecorder,
    cuts: Sequence[RangeCut],
) -> CapturedTorch:
    def column(name: str) -> I64:
        return np.concatenate([getattr(chunk, name) for chunk in chunks])

    start, end = column("start_ns"), column("end_time_ns")
    order = np.lexsort((-end, start))
    start, end = start[order], np.maximum(end[order], start[order])
    name, thread, call = (column(c)[order] for c in ("name", "thread", "call"))
    names = [str(value) for value in tracer.names.values]
    reported = column("reported")[order].astype(bool)
    end, whole = _whole_ranges(cuts, names, reported & (column("scope")[order] == USER_SCOPE), name, start, end)
    start, end, name, thread, call, reported, order = (
        each[whole] for each in (start, end, name, thread, call, reported, order)
    )
    end, depth, parent = cut_crossings(start, end, thread)
    placement = placements(names, name, parent, depth, call, tracer)
    if tracer.library is not None:
        marks = Marks(*(column(f"mark_{c}") for c in ("time_ns", "thread", "name")))
        on_device = column("on_device")[order]
        place_native(placement, PLACEMENTS, names, name, start, thread, parent, depth, on_device, marks)
    replayed, of_graphs = place_graphs(placement, PLACEMENTS, names, name, parent, depth)
    reported = reported & ~replayed
    launch, stated = stated_launches(names, name, call, parent)
    shown = ~(sink_rows(names, name, parent) | stated | of_graphs)
    start, end, name, thread, call, launch, reported, placement, order = (
        column[shown] for column in (start, end, name, thread, call, launch, reported, placement, order)
    )
    signature, signatures, texts = _signatures(tracer, call, launch, placement)
    fwd_thread = column("fwd_thread")[order]
    # The sink's tensors are the CPU's, whose backward passes run on the threads that call them.
    borrowed = tracer.library is not None and not tracer.knows_drynpu
    engine = engine_threads(thread, fwd_thread if borrowed else np.zeros_like(thread))
    operators = Operators(
        names=tuple(_SHOWN_AS.get(text, text) for text in names),
        name=name.astype(np.int32),
        start_ns=start,
        end_ns=end,
        thread=thread,
        fwd_thread=fwd_thread,
        sequence=column("sequence")[order],
        scope=column("scope")[order].astype(np.uint8),
        reported=np.asarray(reported, bool),
        signature=signature,
        signatures=signatures,
        texts=texts,
        **parts.gather(
            "call stacks (with_stack)",
            lambda: stack_columns(tracer, column("stack")[order], np.isin(thread, engine)),
            without_stacks(len(order)),
        ),
    )
    frame_names = tracer.frame_names.values
    called = ~np.isin(column("frame_thread"), engine)
    used_frames, frame_name = np.unique(column("frame_name")[called], return_inverse=True)
    begin_ns = min(chunks[0].begin_ns, int(start[0]) if len(start) else chunks[0].begin_ns)
    return CapturedTorch(
        operators=operators,
        allocations=Allocations(
            time_ns=column("memory_time_ns"),
            thread=column("memory_thread"),
            address=column("memory_address").astype(np.uint64),
            size_bytes=column("memory_bytes"),
        ),
        device_calls=device_calls,
        begin_ns=begin_ns,
        end_ns=max(chunks[-1].end_ns, int(end.max(initial=begin_ns))),
        frames=parts.gather(
            "Python frames (with_stack, with_modules)",
            lambda: python_frames(
                [frame_names[row] for row in used_frames.tolist()],
                name=frame_name,
                start_ns=column("frame_start_ns")[called],
                end_ns=column("frame_end_ns")[called],
                thread=column("frame_thread")[called],
                has_ours=not tracer.knows_drynpu,
            ),
            no_frames(),
        ),
        delays=column("delays"),
        accesses=accesses_of(column("accesses")),
    )


def _whole_ranges(
    cuts: Sequence[RangeCut], names: list[str], ranges: Bools, name: I64, start: I64, end: I64
) -> tuple[I64, Bools]:
    """
    Return the ends of all rows, and which rows stay, once the *ranges* that cuts divided are whole again.

    A cut divides ranges of the recording thread alone, which is always reported.
    """
    kept = np.ones(len(end), bool)
    if cuts:
        rows = np.flatnonzero(ranges)
        end[rows], kept[rows] = joined_ranges(cuts, names, name[rows], start[rows], end[rows])
    return end, kept


def _signatures(
    tracer: Tracer, call: I64, launch: I64, placement: I64
) -> tuple[I32, tuple[Signature, ...], tuple[tuple[str, str], ...]]:
    """Return the number of each row's signature, the signatures, and the types and shapes that a row shows."""
    calls = len(tracer.examples)
    key = np.where(call >= 0, (call * calls + launch) * len(PLACEMENTS) + placement, -1)
    distinct, index = np.unique(key, return_inverse=True)
    signatures: list[Signature] = []
    texts: list[tuple[str, str]] = []
    number = np.full(len(distinct), -1, np.int32)
    for position, value in enumerate(distinct.tolist()):
        if value < 0:
            continue
        both, place = divmod(value, len(PLACEMENTS))
        shown, launched = divmod(both, calls)
        kind = (shown, launched, place)
        if kind not in tracer.signatures:
            _, shapes, dtypes, _ = tracer.examples[shown]
            text = (";".join(d or "None" for d in dtypes), ";".join(map(_shape_text, shapes)))
            tracer.signatures[kind] = (signature_from_kineto(*tracer.examples[launched], PLACEMENTS[place]), text)
        signature, text = tracer.signatures[kind]
        number[position] = len(signatures)
        signatures.append(signature)
        texts.append(text)
    return number[index].astype(np.int32), tuple(signatures), tuple(texts)


def _shape_text(shape: object) -> str:
    """Return dims joined by commas, ``[[2,3],[4]]`` for a list of tensors as the vendor prints it, "" for scalars."""
    if not isinstance(shape, (list, tuple)) or not shape:
        return ""
    if isinstance(shape[0], (list, tuple)):
        return "[" + ",".join("[" + ",".join(map(str, dims)) + "]" for dims in shape) + "]"
    return ",".join(map(str, shape))
