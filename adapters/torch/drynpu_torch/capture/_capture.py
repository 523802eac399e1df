"""A whole recording: chunks that are cut at step boundaries and joined into one table of operators."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import define, evolve, field, frozen

from drynpu import without_collections
from drynpu.arrays import I32, I64, Bools, Records
from drynpu.device import cut_crossings, inherit, nest
from drynpu.kernels import Accesses, Allocations, Operators, Placement, Signature, used_entries
from drynpu.recorder import SAVE_INTERVAL_NS, OptionalParts
from drynpu.simulate import GraphRun, HostCall, PythonFrames
from drynpu_torch.capture._chunk import USER_SCOPE, Chunk, rows_named
from drynpu_torch.capture._communication import functional_waits, inside_communication, without_transport
from drynpu_torch.capture._flops import FlopFormula, flop_ranges
from drynpu_torch.capture._garbage import collection_costs, garbage_collections
from drynpu_torch.capture._graphs import place_graphs
from drynpu_torch.capture._host_calls import HostCallRecorder
from drynpu_torch.capture._native import COPY_RANGES, Marks, place_native
from drynpu_torch.capture._patches import CREATION, LOADER, automatic_marks, loaders_on_host
from drynpu_torch.capture._ranges import OpenRanges, RangeCut, joined_ranges
from drynpu_torch.capture._stacks import (
    engine_threads,
    no_frames,
    python_frames,
    stack_columns,
    without_stacks,
)
from drynpu_torch.capture._tracer import Call, Tracer
from drynpu_torch.device import COPY_TO_HOST
from drynpu_torch.distributed import CollectiveCapture, Communication, Issued
from drynpu_torch.rules import NAMESPACE, signature_from_kineto

V = TypeVar("V")

# Operators that create tensors. The sink has a kernel for each, which calls the CPU's operator of the same name.
_FACTORIES, _INDICES = ("aten::empty_strided", "aten::empty"), ("aten::tril_indices", "aten::triu_indices")
_STATED = f"{NAMESPACE}::"
"""Names of operators that stand for kernels begin with it."""
_SHOWN_AS = {COPY_TO_HOST: "aten::to"}
_CHUNK_EVENTS = 30_000
"""Events after which a recording is cut: memory stays bounded, and the cost of cutting is spread over many events."""
_PLACEMENTS = tuple(Placement)
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
    kept is not cut, because PyTorch's analyses take one result.

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
    _delivered: _Delivered = field(factory=lambda: _Delivered())

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
        self.device_calls.communication = communication
        if self.tracer.library is not None:
            self.tracer.library.note_calls(wanted=True)
        self._patch("what data loaders do on the host", loaders_on_host, None)
        self._patch("work of other threads", self.tracer.threads.watched, None)
        self._patch("ranges across a cut", self._ranges.watched, None)
        threshold_ms = self.gc_threshold_ms
        if threshold_ms is not None:
            self._garbage_ns = self._patch("garbage collections", lambda: garbage_collections(threshold_ms), [])
        else:
            self._delays = self._patch("delays by garbage collections", collection_costs, [])
        if self.automatic_marks:
            self._patch("the marks of data loaders and checkpoints", automatic_marks, None)
        formulas = self.flop_formulas
        if formulas is not None:
            self._patch("floating point operations (with_flops)", lambda: flop_ranges(formulas), None)

    def _patch(self, part: str, begin: Callable[[], contextlib.AbstractContextManager[V]], instead: V) -> V:
        """Enter what *begin* returns until the recording stops."""
        return self._patches.enter_context(self.parts.during(part, begin, instead))

    def step(self) -> None:
        """
        End a step, and cut here if the chunk has grown large.

        All of it is a pause of the profiler, also without a cut: it parts what the host does before the boundary from
        what it does behind it. Between two dispatches the share of each would follow from how long this machine took.
        """
        begin_ns = time.time_ns()
        self._cut_if_large()
        self.device_calls.pause(begin_ns, time.time_ns())

    def _cut_if_large(self) -> None:
        if self.tracer.keep_results:
            return
        self._steps_in_chunk += 1
        expected = self._steps_in_chunk * self._events_per_step
        lasted_ns = time.time_ns() - self._begun_ns
        if self._events_per_step and expected < self.chunk_events and lasted_ns < self.chunk_ns:
            return
        # What another thread is inside of would write into the memory that the tracer gives back.
        if not self._ranges.elsewhere and not self.tracer.threads.busy:
            self._cut()
            self._give(self._chunks[-1])

    def _cut(self) -> None:
        steps, ended = self._steps_in_chunk, self._ranges.end()
        with without_collections():
            self._chunks.append(self._stop_tracer())
        self._take_native_calls()
        self._events_per_step = len(self._chunks[-1].name) / max(steps, 1) or 1.0
        middle_ns = time.time_ns()
        self._begin()
        self._ranges.resume(ended, middle_ns)

    def _stop_tracer(self) -> Chunk:
        """Return what was recorded; collections of garbage that are not to be shown count as delays of the thread."""
        chunk = self.tracer.stop()
        collections = np.array(self._delays, np.int64).reshape(-1, 2)
        self._delays.clear()
        return evolve(chunk, delays=np.concatenate([chunk.delays, collections]))

    def _give(self, chunk: Chunk) -> None:
        """Hand a chunk on, with what the listeners noted meanwhile."""
        if self.on_chunk is None:
            return
        recorder = self.device_calls.communication
        noted, self._delivered = self._delivered.since(
            self.device_calls.calls,
            self.device_calls.streams,
            self.device_calls.graphs,
            self._garbage_ns,
            [] if recorder is None else recorder.issued,
        )
        part = functools.partial(_part, self.tracer, self.parts, chunk, *noted)
        on_chunk = self.on_chunk
        self.parts.gather("steps for the case of a kill", lambda: on_chunk(part), None)

    def stop(self) -> CapturedTorch:
        """Stop recording and join the chunks."""
        self._ranges.end()
        self._patches.close()
        self._chunks.append(self._stop_tracer())
        self._take_native_calls()
        if self.tracer.library is not None:
            self.tracer.library.note_calls(wanted=False)
        self._give(self._chunks[-1])
        recorder, self.device_calls.communication = self.device_calls.communication, None
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
class _Delivered:
    """How many entries of lists that grow were handed on before."""

    counts: tuple[int, ...] = (0, 0, 0, 0, 0)

    def since(self, *lists: Sequence[object]) -> tuple[list[Sequence[Any]], _Delivered]:
        """Return the later entries of each list, and the new state."""
        ends = tuple(map(len, lists))
        return [each[begin:end] for each, begin, end in zip(lists, self.counts, ends, strict=True)], _Delivered(ends)


def _part(
    tracer: Tracer,
    parts: OptionalParts,
    chunk: Chunk,
    calls: Sequence[HostCall],
    streams: Sequence[tuple[int, int, int]],
    graphs: Sequence[GraphRun],
    garbage_ns: Sequence[tuple[int, int]],
    issued: Sequence[Issued],
) -> CapturedTorch:
    """Return what was captured in one chunk, as if that were the recording; called by the thread that writes it."""
    if tracer.library is not None:
        tracer.library.watch_this_thread()
    noted = HostCallRecorder(calls=list(calls), streams=list(streams), graphs=list(graphs))
    captured = _join(tracer, parts, [without_transport(chunk, tracer.names)], noted, ())
    noted.calls.extend(functional_waits(captured.operators))
    return evolve(
        captured,
        operators=used_entries(captured.operators),
        communication=Communication(issued=issued),
        garbage_ns=tuple(garbage_ns),
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
    end = cut_crossings(start, end, thread)
    depth, parent = nest(start, end, thread)
    placement = _placements(names, name, parent, depth, call, tracer)
    if tracer.library is not None:
        marks = Marks(*(column(f"mark_{c}") for c in ("time_ns", "thread", "name")))
        on_device = column("on_device")[order]
        place_native(placement, _PLACEMENTS, names, name, start, thread, parent, depth, on_device, marks)
    replayed, of_graphs = place_graphs(placement, _PLACEMENTS, names, name, parent, depth)
    reported = reported & ~replayed
    launch, stated = _stated_launches(names, name, call, parent)
    shown = ~(_sink_rows(names, name, parent) | stated | of_graphs)
    start, end, name, thread, call, launch, reported, placement, order = (
        column[shown] for column in (start, end, name, thread, call, launch, reported, placement, order)
    )
    signature, signatures, texts = _signatures(tracer, call, launch, placement)
    fwd_thread = column("fwd_thread")[order]
    # The sink's tensors are the CPU's, whose backward passes run on the threads that call them.
    engine = engine_threads(thread, fwd_thread if tracer.library is not None else np.zeros_like(thread))
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
            ),
            no_frames(),
        ),
        delays=column("delays"),
        accesses=_accesses(column("accesses")),
    )


def _accesses(rows: Records) -> Accesses | None:
    """Return which memory was touched, None where nobody looked."""
    if not len(rows):
        return None
    return Accesses(
        time_ns=rows["time_ns"],
        thread=rows["thread"].astype(np.int64),
        block=rows["block"],
        offset=rows["offset"],
        size_bytes=rows["bytes"],
        block_bytes=rows["block_bytes"],
        written=rows["written"],
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


def _sink_rows(names: list[str], name: I64, parent: I64) -> Bools:
    """
    Return which rows, shape ``[n]``, come from the sink; neither a device nor plain PyTorch would leave them.

    They are needed to place the others and are not shown: the CPU's factory inside the device's of the same name, and
    the range around the creation of a loader's iterator.
    """
    factories = rows_named(names, name, lambda text: text in (*_FACTORIES, *_INDICES))
    copies = rows_named(names, name, lambda text: text in COPY_RANGES)
    creations = rows_named(names, name, lambda text: text.startswith(LOADER) and text.endswith(CREATION))
    nested = (parent >= 0) & (name[np.maximum(parent, 0)] == name)
    return np.asarray(factories & nested | copies | creations, bool)


def _stated_launches(names: list[str], name: I64, call: I64, parent: I64) -> tuple[I64, Bools]:
    """
    Return the call that states the kernels of each row, shape ``[n]``, and which rows only state them.

    Most rows state their own. An operator of torch_npu that launches one kernel says so by a call inside; those that
    launch several keep these calls, as copies and casts are operators on a device, too.
    """
    rows = np.flatnonzero(rows_named(names, name, lambda text: text.startswith(_STATED)) & (parent >= 0))
    parents, first, count = np.unique(parent[rows], return_index=True, return_counts=True)
    single = rows[first[count == 1]]
    launch, stated = call.copy(), np.zeros(len(call), bool)
    launch[parents[count == 1]], stated[single] = call[single], True
    return launch, stated


def _placements(
    names: list[str],
    name: I64,
    parent: I64,
    depth: I64,
    call: I64,
    tracer: Tracer,
) -> I64:
    """
    Return where each operator works, an index into :class:`Placement`, shape ``[n]``.

    The sink computes on CPU tensors, so the device follows from the tree of calls. A copy to the device allocates
    through the sink's factory, which shows as one factory inside another. Copies to the host are annotated. Beside a
    real NPU the host does the work of data loaders, of pinning memory, of gloo, and the scalar-only work inside an
    optimizer's step (its step counters).
    """
    place = np.full(len(name), _PLACEMENTS.index(Placement.DEVICE), np.int64)

    def named(text: str) -> Bools:
        return rows_named(names, name, text.__eq__)

    def inside(prefix: str) -> Bools:
        return inherit(depth, parent, rows_named(names, name, lambda text: text.startswith(prefix)))

    copies = named("aten::_to_copy")
    for factory_name in _FACTORIES:
        factory = named(factory_name)
        inner = np.flatnonzero(factory & (parent >= 0))
        inner = inner[factory[parent[inner]]]
        outer = parent[parent[inner]]
        outer = outer[outer >= 0]
        place[outer[copies[outer]]] = _PLACEMENTS.index(Placement.TO_DEVICE)
    place[inside(COPY_TO_HOST) & named("aten::clone")] = _PLACEMENTS.index(Placement.TO_HOST)
    counters = inside("Optimizer.step#") & (call >= 0)
    distinct, example = np.unique(call[counters], return_inverse=True)
    scalar = np.array([_only_scalars(tracer.examples.get(number)) for number in distinct.tolist()], bool)
    counters[counters] = scalar[example]
    communication = inside_communication(names, name, depth, parent)
    on_host = inside(LOADER) | inside("aten::_pin_memory") | communication | counters
    place[on_host] = _PLACEMENTS.index(Placement.HOST)
    return place


def _only_scalars(example: Call | None) -> bool:
    """Whether a call has tensor arguments and all of its tensors, those in lists too, have dimension 0."""
    if example is None:
        return False
    _, shapes, dtypes, _ = example
    typed = list(zip(shapes, dtypes, strict=False))
    tensors = [shape for shape, dtype in typed if dtype not in ("", "Scalar", "ScalarList", "TensorList")]
    lists = [shape for shape, dtype in typed if dtype == "TensorList"]
    return bool(tensors) and not any(tensors) and not any(any(shape) for shape in lists)


def _signatures(
    tracer: Tracer, call: I64, launch: I64, placement: I64
) -> tuple[I32, tuple[Signature, ...], tuple[tuple[str, str], ...]]:
    """Return the number of each row's signature, the signatures, and the types and shapes that a row shows."""
    calls = len(tracer.examples)
    key = np.where(call >= 0, (call * calls + launch) * len(_PLACEMENTS) + placement, -1)
    distinct, index = np.unique(key, return_inverse=True)
    signatures: list[Signature] = []
    texts: list[tuple[str, str]] = []
    number = np.full(len(distinct), -1, np.int32)
    for position, value in enumerate(distinct.tolist()):
        if value < 0:
            continue
        both, place = divmod(value, len(_PLACEMENTS))
        _, shapes, dtypes, _ = tracer.examples[both // calls]
        number[position] = len(signatures)
        signatures.append(signature_from_kineto(*tracer.examples[both % calls], _PLACEMENTS[place]))
        texts.append((";".join(d or "None" for d in dtypes), ";".join(map(_shape_text, shapes))))
    return number[index].astype(np.int32), tuple(signatures), tuple(texts)


def _shape_text(shape: object) -> str:
    """Return dims joined by commas, ``[[2,3],[4]]`` for a list of tensors as the vendor prints it, "" for scalars."""
    if not isinstance(shape, (list, tuple)) or not shape:
        return ""
    if isinstance(shape[0], (list, tuple)):
        return "[" + ",".join("[" + ",".join(map(str, dims)) + "]" for dims in shape) + "]"
    return ",".join(map(str, shape))
