"""The recorder of the native device as a tracer: no Python object per operator, only for what is distinct."""

from __future__ import annotations

import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import define, field

from drynpu import CaptureError
from drynpu.arrays import I32, I64, Records
from drynpu_torch.capture._calls import read_arguments
from drynpu_torch.capture._chunk import Chunk, unreadable_name
from drynpu_torch.capture._frame_names import FrameNames
from drynpu_torch.capture._kineto import KinetoTracer
from drynpu_torch.capture._tracer import Tracer
from drynpu_torch.device import Library, RecordedOperators

_WORD_BYTES = 8


@define(kw_only=True)
class ColumnTracer(Tracer):
    """
    Records by the native device's observer of operators.

    A profiler of PyTorch that is started meanwhile sees the same operators; neither disturbs the other.
    """

    _begin_ns: int = 0
    _labels: FrameNames = field(factory=FrameNames)

    @property
    def knows_drynpu(self) -> bool:
        """Whether frames and stacks are recorded without drynpu's."""
        return True

    def resume(self) -> None:
        """
        Record the calling thread's frames again, where the script profiled it in between.

        Raises
        ------
        CaptureError
            The script profiles it now.
        """
        if (self.stack or self.frames) and not self._device().follow_thread():
            raise CaptureError("the thread has a profile function of the script (sys.setprofile), which goes on")

    def start(self) -> None:
        """Start recording. Raises `CaptureError` if another profiler is active in this process."""
        self.prepare()
        library = self._device()
        library.take_marks()
        library.note_marks(wanted=True)
        self._begin_ns = time.time_ns()
        library.start_recording(memory=self.memory)
        if self.stack or self.frames:
            self._labels = self._labels.start(library)

    def stop(self) -> Chunk:
        """Stop recording and return the events since :meth:`start`."""
        end_ns = time.time_ns()
        library = self._device()
        recorded = library.stop_recording()
        library.note_marks(wanted=False)
        rows, length = recorded.rows, len(recorded.rows)
        texts = [_readable(name) for name in recorded.names]
        name = self.names.index(texts, len(texts))[rows["name"]]
        calls = self._known_calls(library, texts, recorded.calls)
        thread, start_ns = rows["thread"].astype(np.int64), np.ascontiguousarray(rows["start_ns"])
        self.threads.note_operators(thread)
        memory = recorded.allocations[np.argsort(recorded.allocations["time_ns"], kind="stable")]
        kept = self.threads.keep(
            np.concatenate([thread, memory["thread"]]), np.concatenate([start_ns, memory["time_ns"]])
        )
        memory = memory[kept[length:]]
        frames = recorded.frames
        shown = self._labels.read(library) if len(frames) else self._labels
        frame_texts = self.frame_names.index(shown.in_records, len(shown.in_records))
        return Chunk(
            begin_ns=self._begin_ns,
            end_ns=end_ns,
            name=name,
            start_ns=start_ns,
            end_time_ns=np.ascontiguousarray(rows["end_ns"]),
            thread=thread,
            fwd_thread=rows["forward_thread"].astype(np.int64),
            sequence=np.ascontiguousarray(rows["sequence"]),
            scope=np.ascontiguousarray(rows["scope"]),
            call=_looked_up(calls, rows),
            stack=self._known_stacks(shown, recorded, rows["stack"]),
            reported=kept[:length],
            on_device=np.ascontiguousarray(rows["on_device"]),
            memory_time_ns=memory["time_ns"],
            memory_thread=memory["thread"].astype(np.int64),
            memory_address=memory["address"],
            memory_bytes=memory["bytes"],
            **self.marks(),
            frame_name=frame_texts[frames["name"]],
            frame_start_ns=np.ascontiguousarray(frames["start_ns"]),
            frame_end_ns=np.ascontiguousarray(frames["end_ns"]),
            frame_thread=frames["thread"].astype(np.int64),
            delays=np.column_stack([recorded.delays["time_ns"], recorded.delays["waited_ns"]]),
            accesses=recorded.accesses,
        )

    def _known_stacks(self, names: FrameNames, recorded: RecordedOperators, stack: I32) -> I64:
        """Return the ids of the operators' stacks, whose texts are made once for each that is new."""
        used, row = np.unique(stack if self.stack else np.full(len(stack), -1, np.int32), return_inverse=True)
        texts = names.in_stacks(recorded.stacks, used.tolist())
        return self.stacks.index(texts, len(texts))[row]

    def _device(self) -> Library:
        if self.library is None:
            raise CaptureError(
                "the sink has no recorder of operators; drynpu native build makes the device that has one"
            )
        return self.library

    def _known_calls(self, library: Library, names: Sequence[str], calls: Sequence[bytes]) -> I64:
        """Return the ids of distinct calls; those that are new become :attr:`examples`."""
        keys = [(names[int.from_bytes(call[:_WORD_BYTES], "little")], call[_WORD_BYTES:]) for call in calls]
        ids = self.calls.index(keys, len(keys))
        type_name = functools.cache(library.type_name)
        for identity, (name, words) in zip(ids.tolist(), keys, strict=True):
            if identity not in self.examples:
                self.examples[identity] = (name, *read_arguments(words, type_name))
        return ids


@define(kw_only=True)
class KeepingTracer(ColumnTracer):
    """Records so while Kineto runs beside it, whose results PyTorch's analyses take."""

    kineto: KinetoTracer

    def start(self) -> None:
        """Start recording. Raises `CaptureError` if another profiler is active in this process."""
        self.kineto.start()
        super().start()

    def stop(self) -> Chunk:
        """Stop recording and return the events since :meth:`start`."""
        chunk = super().stop()
        self.kineto.end()
        self.results, self.taken_over = self.kineto.results, self.kineto.taken_over
        return chunk


def new_tracer(**options: Any) -> Tracer:
    """Return the tracer that serves these options of :class:`Tracer`: the recorder wherever there is one."""
    kineto = KinetoTracer(**options)
    library = kineto.library
    if library is None:
        return kineto
    if (kineto.stack or kineto.frames) and not library.follows_python:
        return kineto
    if kineto.keep_results:
        return KeepingTracer(**{**options, "alone": False}, kineto=kineto)
    return ColumnTracer(**options)


def _looked_up(calls: I64, rows: Records) -> I64:
    number = rows["call"]
    looked_up = np.full(len(rows), -1, np.int64)
    looked_up[number >= 0] = calls[number[number >= 0]]
    return looked_up


def _readable(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return unreadable_name(name)
