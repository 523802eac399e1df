"""Capture of a graph: operators are noted while they run on what their tensors hold, which is put back afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

import torch
from attrs import define, field, frozen
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._pytree import tree_flatten

from drynpu_torch.device import (
    GRAPH_CAPTURE,
    GRAPH_KEEPING,
    GraphStreams,
    OperatorMode,
    Stream,
    must_not_capture,
    on_npu,
    state,
)
from drynpu_torch_graphs._program import (
    CapturedCall,
    Program,
    Slot,
    bytes_of,
    flatten,
    layout_of,
    shown_range,
    tensor_in,
    write_bytes,
)

_SYNCHRONIZES: Final = frozenset({torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape})
_WRITES_UNSAID: Final = frozenset(
    {"aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::_batch_norm_with_update"}
)
"""Operators that write their fourth and fifth argument, the running mean and variance; their schema does not say so."""
_RUNNING: Final = (3, 4)
_ALLOCATES: Final = frozenset(
    f"aten::{name}" for name in ("empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided")
)
_INDEXES: Final = frozenset({"aten::index", "aten::_unsafe_index"})
_MASKS: Final = (torch.bool, torch.uint8)
_READING: Final = "operator():../torch_npu/csrc/aten/common/LocalScalarDenseNpu.cpp:23"


@frozen
class _Known:
    """A storage that the capture has met; *kept* holds one that was there before."""

    number: int
    weak: StorageWeakRef
    kept: torch.UntypedStorage | None


@define(eq=False)
class GraphCapture:
    """
    The capture of one graph, from its beginning to its end.

    ``stream`` is the stream that captures; ``graph`` says which streams the graph has in its place and in the place of
    others. Storages that operators write and that were there before are put back at the
    end, as are the states of random generators: on a device nothing runs until the graph is replayed.
    """

    stream: torch.Stream
    graph: GraphStreams
    everywhere: bool = True
    """Whether calls of other threads that wait for the device break the capture, too."""
    calls: list[CapturedCall] = field(factory=list)
    on_call: Callable[[GraphCapture, Any, tuple[Any, ...], dict[str, Any]], Any] | None = None
    """Captures a call of an operator in the place of :meth:`call`."""
    _known: dict[int, _Known] = field(factory=dict)
    _before: dict[int, tuple[torch.UntypedStorage, bytes]] = field(factory=dict)
    _fresh: list[StorageWeakRef] = field(factory=list)
    _random: list[tuple[torch.Generator, torch.Tensor]] = field(factory=list)
    _thread: int = field(factory=threading.get_ident)
    _begun_ns: int = 0
    _streams: dict[int, torch.Stream] = field(factory=dict)
    _mode: _CaptureMode = field(init=False)

    def covers(self, *, waits: bool = False) -> bool:
        """Return whether a call of this thread belongs to the capture, or, if it *waits*, breaks it."""
        return threading.get_ident() == self._thread or (waits and self.everywhere)

    def begin(self) -> None:
        """Note operators from now on."""
        self._begun_ns = time.time_ns()
        self.stream_number(self.stream.stream_id)
        library = state().library
        generators = () if library is None else library.generators
        self._random = [(generator, generator.get_state()) for generator in generators]
        self._mode = _CaptureMode(self)
        self._mode.__enter__()  # type: ignore[no-untyped-call]

    def end(self) -> Program:
        """Note no more, put back what was written, and return the graph."""
        self.abandon()
        recorder = state().recorder
        if recorder is not None:
            recorder.on_capture(self.graph, self._begun_ns)
        with shown_range(GRAPH_KEEPING):
            return self._program()

    def abandon(self) -> None:
        """Note no more, and put back what was written."""
        self._mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        for storage, content in self._before.values():
            write_bytes(storage, content)
        for generator, before in self._random:
            generator.set_state(before)

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operator and note it; return its result."""
        leaves, spec = flatten(args, kwargs)
        if not any(map(on_npu, leaves)) and not _names_npu(leaves):
            return function(*args, **kwargs)
        self._refuse_reading(function, args, kwargs)
        with shown_range(GRAPH_KEEPING):
            noted = CapturedCall(function, [self._argument(leaf) for leaf in leaves], spec, stream=self._stream())
        self._save_written(function, args, kwargs)
        with shown_range(GRAPH_CAPTURE):
            result = function(*args, **kwargs)
        noted.results = [self._result(leaf) for leaf in tree_flatten(result)[0]]
        self.calls.append(noted)
        return result

    def note(self, function: Callable[[], object]) -> None:
        """Note something else that happens whenever the graph runs."""
        leaves, spec = flatten((), {})
        self.calls.append(CapturedCall(function, leaves, spec))

    def stream_number(self, stream_id: int) -> int:
        """Return the stream on which the graph runs what is captured from a stream."""
        streams = self.graph.streams
        if stream_id not in streams:
            streams[stream_id] = next(state().stream_ids)
        return streams[stream_id]

    def _stream(self) -> torch.Stream:
        """Return the graph's stream in the place of the current one."""
        current = _current_stream()
        number = self.stream_number(current.stream_id)
        if number not in self._streams:
            self._streams[number] = Stream(current.device_index, stream_id=number)
        return self._streams[number]

    def _refuse_reading(self, function: object, args: tuple[object, ...], kwargs: dict[str, Any]) -> None:
        """Refuse what the host waits for: numbers, sizes that follow from values, copies."""
        if not isinstance(function, torch._ops.OpOverload):
            return
        reads = bool(_SYNCHRONIZES.intersection(function.tags)) and any(map(on_npu, tree_flatten((args, kwargs))[0]))
        if (reads and not _size_is_known(function, args, kwargs)) or _waits(function, args, kwargs):
            must_not_capture(_READING)

    def _argument(self, leaf: Any) -> Any:
        if not on_npu(leaf):
            return leaf
        known = self._find(leaf.untyped_storage())
        if known is None:
            storage = leaf.untyped_storage()
            known = self._meet(storage, storage)
        return leaf.detach() if known.kept is not None else Slot(known.number, layout_of(leaf))

    def _result(self, leaf: Any) -> Slot | None:
        if not on_npu(leaf):
            return None
        known = self._find(leaf.untyped_storage()) or self._meet(leaf.untyped_storage(), None)
        return None if known.kept is not None else Slot(known.number, layout_of(leaf))

    def _find(self, storage: torch.UntypedStorage) -> _Known | None:
        known = self._known.get(storage._cdata)
        return None if known is None or _alive(known.weak) is None else known

    def _meet(self, storage: torch.UntypedStorage, kept: torch.UntypedStorage | None) -> _Known:
        known = _Known(len(self._fresh), StorageWeakRef(storage), kept)  # type: ignore[no-untyped-call]
        self._fresh.append(known.weak)
        self._known[storage._cdata] = known
        return known

    def _save_written(self, function: object, args: tuple[object, ...], kwargs: dict[str, Any]) -> None:
        for value in tree_flatten(written_arguments(function, args, kwargs))[0]:
            if not on_npu(value):
                continue
            storage = value.untyped_storage()
            known = self._find(storage)
            if known is not None and known.kept is not None:
                self._before.setdefault(known.number, (storage, bytes_of(storage)))

    def _program(self) -> Program:
        """Fix the storages that are in use, and say after which call each of the others is not needed any more."""
        kept = {number: _alive(weak) for number, weak in enumerate(self._fresh)}

        def fixed(value: Any) -> Any:
            storage = kept[value.storage] if isinstance(value, Slot) else None
            return value if storage is None else tensor_in(storage, value.layout)

        last: dict[int, CapturedCall] = {}
        for call in self.calls:
            call.leaves = list(map(fixed, call.leaves))
            call.results = list(map(fixed, call.results))
            last |= {value.storage: call for value in (*call.leaves, *call.results) if isinstance(value, Slot)}
        for number, call in last.items():
            call.released = (*call.released, number)
        # Memory that is fixed is not taken again; what is written to it stays there from one run to the next.
        calls = [call for call in self.calls if not _only_allocates(call)]
        return Program(calls, [storage for storage in kept.values() if storage is not None], self.graph)


class _CaptureMode(OperatorMode):
    """Sees the operators of this thread, and of the threads that its backward passes run on."""

    def __init__(self, capture: GraphCapture) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._capture = capture

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Let PyTorch compile regions in which this is the only mode."""
        return True

    def operator(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture one operator."""
        capture = self._capture
        if capture.on_call is not None:
            return capture.on_call(capture, function, args, kwargs)
        return capture.call(function, args, kwargs)


def _size_is_known(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """
    Return whether the size of a result follows from sizes and numbers alone, in spite of the operator's tag.

    An index by positions gives as many rows as there are positions; only a mask has to be counted, which needs its
    values. ``repeat_interleave`` counts only where the caller does not say the size.
    """
    name = function._schema.name
    if name in _INDEXES:
        indices = args[1] if len(args) > 1 else kwargs["indices"]
        return not any(index is not None and index.dtype in _MASKS for index in indices)
    return name == "aten::repeat_interleave" and kwargs.get("output_size") is not None


def _waits(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Return whether an operator is a copy between host and device that the host waits for."""
    name = function._schema.name
    if name == "aten::copy_":
        waits = not (args[2] if len(args) > 2 else kwargs.get("non_blocking", False))
        return waits and on_npu(args[0]) != on_npu(args[1]) and args[1].dim() > 0
    if name == "aten::_to_copy" and kwargs.get("device") is not None:
        there = torch.device(kwargs["device"]).type == args[0].device.type
        return not there and not kwargs.get("non_blocking", False)
    return False


def written_arguments(function: object, args: tuple[object, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the arguments that an operator writes."""
    schema = getattr(function, "_schema", None)
    if schema is None:
        return []
    if schema.name in _WRITES_UNSAID:
        return [args[place] for place in _RUNNING if place < len(args)]
    written = []
    for place, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written.append(args[place] if place < len(args) else kwargs.get(argument.name))
    return written


def _names_npu(leaves: list[Any]) -> bool:
    return any(isinstance(leaf, torch.device) and leaf.type == "npu" for leaf in leaves)


def _only_allocates(call: CapturedCall) -> bool:
    name = call.function._schema.name if isinstance(call.function, torch._ops.OpOverload) else ""
    return name in _ALLOCATES and all(isinstance(each, torch.Tensor) for each in call.results)


def _alive(weak: StorageWeakRef) -> torch.UntypedStorage | None:
    return torch.UntypedStorage._new_with_weak_ptr(weak.cdata)


def _current_stream() -> torch.Stream:
    device = state().current_device
    return state().selected_stream(device) or Stream(device, stream_id=0)
