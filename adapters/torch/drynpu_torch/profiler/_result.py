"""One result directory, from its creation to its deliverables."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from attrs import define, evolve, field

from drynpu import CaptureError, OutputError, __version__, facade_version, without_collections
from drynpu.kernels import Operators, Placement
from drynpu.layouts.result_files import METADATA_FILE, profiler_info_file
from drynpu.options import Activity, ProfilingRequest, Settings
from drynpu.raw import ClockAnchors, write_document
from drynpu.recorder import (
    OptionalParts,
    Outcome,
    RankRendezvous,
    Recorder,
    framework_plan,
    join_graphs,
    rank_number,
    with_end_info,
)
from drynpu.simulate import Mark, Planner, Recording
from drynpu_torch import device, rules
from drynpu_torch.capture import Capture, CapturedTorch, RecordedThreads, new_tracer
from drynpu_torch.distributed import lone_notes, rendezvous
from drynpu_torch.profiler._flops import flop_formulas
from drynpu_torch.profiler._messages import print_warning
from drynpu_torch.profiler._process import PROCESS
from drynpu_torch.profiler._rank import rank_id

_FRAMEWORK = "torch"
_NOTHING = (
    "nothing ran on the npu: the script's tensors are on the host; move model and data to it with .npu() or "
    ".to('npu'), or let DRYNPU_DEVICE=sink take all tensors for the npu's"
)


@define(kw_only=True)
class Result:
    """
    A recording and its directory.

    Methods are called in the order of the action table: :meth:`init`, :meth:`start`, :meth:`step` at every step
    boundary, :meth:`stop`, :meth:`finalize`; :meth:`delete` removes a directory without data.
    """

    request: ProfilingRequest
    raw_only: bool = False
    describe: Callable[[], tuple[Mapping[str, object], Mapping[str, object]]] | None = None
    """Returns what :meth:`finalize` is given. With it finished steps are saved while they are recorded."""
    settings: Settings = field(factory=lambda: Settings.from_environ(os.environ))
    path: Path | None = None
    results: tuple[object, ...] = ()
    """The results of Kineto, where shapes, memory and frames were recorded; the memory timeline needs them."""
    _is_new: bool = False
    _recorder: Recorder | None = None
    _capture: Capture | None = None
    _captured: CapturedTorch | None = None
    _live_bytes: int = 0
    _described: bool = False
    _script_marks: device.ScriptMarks | None = None
    _saved_marks: int = 0
    _plan: Planner | None = None

    def init(self, path: Path | None = None) -> None:
        """
        Create the result directory, by default a new one where the vendor's profiler would; *path* may be there.

        Raises
        ------
        OutputError
            If it cannot be created; the message names the path and the reason.
        ChipError
            If the chip of the settings does not exist.
        """
        self._recorder = Recorder.open(_FRAMEWORK, self.request, self.settings, print_warning)
        exist_ok = path is not None
        path = PROCESS.result_directory(raw_only=self.raw_only) if path is None else path
        try:
            path.mkdir(mode=0o750, parents=True, exist_ok=exist_ok)
        except OSError as error:
            raise OutputError(
                f"cannot create the result directory {path}: {error.strerror}. Choose a writable directory with "
                "tensorboard_trace_handler(dir_name) or ASCEND_WORK_PATH."
            ) from error
        self.path, self._is_new = path, not exist_ok

    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        CaptureError
            If another profiler is active; a result directory that this created is removed again.
        """
        recorder = self._recorder
        if recorder is None or self.path is None:
            return
        self._must_be_alone()
        switches = self.request.switches
        records_marks = switches.tx and Activity.DEVICE in self.request.activities
        capture = self._new_capture(recorder.parts, records_marks=records_marks)
        try:
            recorder.start(lambda: self._begin(capture, recorder.parts))
        except Exception:
            self.delete()
            raise
        begun_ns = time.time_ns()
        self._capture, self._saved_marks = capture, 0
        state = device.state()
        state.recorder = capture.device_calls
        stream = state.selected_stream(state.current_device)
        if stream is not None:  # selected before the recording began
            capture.device_calls.on_stream(stream.stream_id)
        if records_marks:
            filters = self.request.filters
            state.script_marks = device.ScriptMarks(
                state.range_ids,
                include=frozenset(filters.tx_domains_include),
                exclude=frozenset(filters.tx_domains_exclude),
            )
        # It parts the start of the recording from the first step, as later boundaries part steps.
        capture.device_calls.pause(begun_ns, time.time_ns())

    def _begin(self, capture: Capture, parts: OptionalParts) -> None:
        if self.request.switches.profile_memory:
            self._live_bytes = parts.gather("the memory that tensors held before", device.npu.memory_allocated, 0)
        capture.start()

    def _new_capture(self, parts: OptionalParts, *, records_marks: bool) -> Capture:
        switches = self.request.switches
        frames = switches.with_stack or switches.with_modules
        tracer = new_tracer(
            memory=switches.profile_memory,
            stack=switches.with_stack,
            frames=frames,
            keep_results=switches.record_shapes and switches.profile_memory and frames,
            threads=RecordedThreads(PROCESS.child_threads),
        )
        return Capture(
            tracer=tracer,
            parts=parts,
            automatic_marks=records_marks,
            flop_formulas=flop_formulas() if records_marks and switches.with_flops else None,
            gc_threshold_ms=switches.gc_threshold_ms,
            on_chunk=None if self.describe is None else self._save,
        )

    @property
    def parts(self) -> OptionalParts:
        """What gathers all but the operators of this recording."""
        return OptionalParts(print_warning) if self._recorder is None else self._recorder.parts

    @property
    def outcome(self) -> Outcome | None:
        """The recording as it was written, ``None`` before."""
        return None if self._recorder is None else self._recorder.outcome

    @property
    def recording(self) -> bool:
        """Whether operators are being recorded right now."""
        return self._capture is not None

    @property
    def finished(self) -> bool:
        """Whether a recording has been written here."""
        return self.outcome is not None

    @property
    def pending(self) -> bool:
        """Whether a recording is to be written here, for the first time or again after a failure."""
        return self._captured is not None

    @property
    def taken_over(self) -> bool:
        """Whether another profiler took operators of this recording, which is not written yet."""
        return self._captured is not None and self._captured.taken_over

    @property
    def follows_threads(self) -> bool:
        """Whether threads that Python started are in this recording, which is not written yet."""
        return self._captured is None or self._captured.follows_threads

    @property
    def operators(self) -> int:
        """Number of operators recorded and not written yet."""
        return 0 if self._captured is None else len(self._captured.operators.start_ns)

    def warm_up(self) -> None:
        """
        Start and stop the tracer once: its first start loads libraries.

        Raises
        ------
        CaptureError
            If another profiler is active; the result directory is removed again.
        """
        self._must_be_alone()
        tracer = new_tracer()
        tracer.start()
        tracer.stop()

    def step(self) -> None:
        """End a step, if this records."""
        if self._capture is not None:
            self._capture.step()

    @without_collections()
    def stop(self) -> None:
        """Stop recording and keep the captured data."""
        if self._capture is None:
            return
        state = device.state()
        self.parts.gather("times of events", state.settle_timer, None)
        self._script_marks, state.script_marks, state.recorder = state.script_marks, None, None
        if self._recorder is not None:
            self._recorder.stop()
        self._captured, self._capture = self._capture.stop(), None

    def finalize(self, info: Mapping[str, object], metadata: Mapping[str, object]) -> None:
        """
        Simulate, and write the raw data, ``profiler_info*.json`` and ``profiler_metadata.json``.

        What an exception interrupted is done when this is called again; what is complete stays as it is.
        """
        if self.path is None or (self._described and not self.pending):
            return
        outcome, anchors = self.write() or self.outcome, None if self._recorder is None else self._recorder.anchors
        name, document = self._information(info, None if outcome is None else anchors)
        if outcome is not None and anchors is not None:
            document = with_end_info(document, outcome.end_ns, anchors)
            metadata = {**metadata, "drynpu": outcome.describe()}
        write_document(self.path / name, json.dumps(document, indent=4))
        write_document(self.path / METADATA_FILE, json.dumps(metadata))
        self._described = True
        if self._recorder is not None:
            self._recorder.settle()

    def _information(self, info: Mapping[str, object], anchors: ClockAnchors | None) -> tuple[str, dict[str, object]]:
        """Return name and content of ``profiler_info*.json``; with *anchors* where something was recorded."""
        rank, document = rank_id(), dict(info)
        if anchors is not None:
            # Times come from the monotonic clock, not from a system counter (torch_npu_profiler.md 3.3).
            document["start_info"] = {
                "syscnt_enable": False,
                "freq": 100,
                "start_cnt": 0,
                "start_monotonic": anchors.monotonic_raw_ns,
            }
        document["torch_npu_version"] = f"{facade_version(torch.__version__).partition('+')[0]}+drynpu{__version__}"
        document["cann_version"] = "not known"
        if rank is not None:
            document["rank_id"] = rank
        return profiler_info_file(rank), document

    def _save(self, captured: Callable[[], CapturedTorch]) -> None:
        """Save what was captured since the last time, for the case that the process is killed."""
        recorder = self._recorder
        if recorder is None or recorder.anchors is None or self.describe is None or self.path is None:
            return
        marks = self._script_marks or device.state().script_marks
        new_marks = () if marks is None else tuple(marks.marks[self._saved_marks :])
        self._saved_marks += len(new_marks)
        information, metadata = self.describe()
        name, document = self._information(information, recorder.anchors)
        device_id, with_marks = device.state().current_device, marks is not None
        recorder.save(
            lambda: {device_id: self._recording(recorder, captured(), new_marks, with_marks=with_marks)},
            self._find_plan,
            self.path,
            warn=print_warning,
            documents={name: document, METADATA_FILE: metadata},
            **self._destination(),
        )

    @without_collections()
    def write(self) -> Outcome | None:
        """Simulate, and write the raw data alone; return ``None`` if nothing was recorded since the last time."""
        recorder, captured = self._recorder, self._captured
        if captured is None or recorder is None or self.path is None:
            return None
        begin_ns = max(captured.begin_ns, recorder.begin_ns)
        with recorder.parts.during(
            "the meeting with other ranks", lambda: rendezvous(captured.communication, begin_ns), RankRendezvous()
        ) as others:
            outcome = self._write(recorder, captured, others, self.path)
        recorder.outcome = evolve(outcome, notes=(*outcome.notes, *others.notes))
        self.results, self._captured = captured.results, None
        return recorder.outcome

    def delete(self) -> None:
        """
        Remove a result directory without a recording.

        A directory that was given stays, because it may hold other files, and so does one with a recording, written or
        yet to be written: an exception on the way from one action to the next leaves the session with the old one.
        """
        if self.finished or self.pending:
            return
        if self.path is not None:
            if self._recorder is not None:
                self._recorder.settle()
            if self._is_new:
                shutil.rmtree(self.path, ignore_errors=True)
            self.path = None

    def discard(self) -> None:
        """Remove a result directory with a recording of nothing, which is not written."""
        self._captured = None
        self.delete()

    def _must_be_alone(self) -> None:
        device.state().settle_timer()
        # PyTorch refuses a second recording of this thread alone, and drynpu records all threads.
        if device.state().recorder is not None:
            self.delete()
            raise CaptureError(
                "another recording is already running in this process (of torch_npu.profiler, drynpu run --profile or "
                "drynpu msprof); only one can run at a time. Stop that one first."
            )

    def _write(self, recorder: Recorder, captured: CapturedTorch, others: RankRendezvous, path: Path) -> Outcome:
        marks = self._script_marks
        recording = self._recording(
            recorder, captured, () if marks is None else tuple(marks.marks), with_marks=marks is not None
        )
        recording = evolve(recording, host_samples=recorder.host_samples, rendezvous=others)
        plan = self._find_plan()
        return recorder.write({device.state().current_device: recording}, plan, path, **self._destination())

    def _find_plan(self) -> Planner:
        """Return the plan, which keeps the kernels of calls that parts on disk had already."""
        self._plan = self._plan or framework_plan(_FRAMEWORK, rules.FALLBACKS)
        return self._plan

    def _recording(
        self, recorder: Recorder, captured: CapturedTorch, marks: tuple[Mark, ...], *, with_marks: bool
    ) -> Recording:
        mode, problems = device.launch_mode(os.environ, recorder.settings.clock)
        parts = recorder.parts
        return Recording(
            operators=captured.operators,
            allocations=captured.allocations,
            host_calls=tuple(captured.device_calls.calls),
            streams=tuple(captured.device_calls.streams),
            graphs=join_graphs(captured.device_calls.graphs),
            begin_ns=max(captured.begin_ns, recorder.begin_ns),
            end_ns=max(captured.end_ns, recorder.begin_ns + 1),
            live_before_bytes=self._live_bytes,
            collectives=parts.gather("collectives", lambda: captured.communication.collectives(marked=with_marks), ()),
            python_frames=captured.frames,
            garbage_ns=captured.garbage_ns,
            processor_waits=captured.delays,
            accesses=captured.accesses,
            marks=marks,
            launch_mode=mode,
            notes=(
                *device.state().notes,
                *parts.gather("notes on absent ranks", lone_notes, tuple[str, ...]()),
                *_notes(captured.operators),
                *problems,
            ),
            served_by=device.state().served_by,
        )

    def _destination(self) -> dict[str, Any]:
        """Return the fields of the destination that its directory does not say."""
        return {
            "rank_id": rank_number(rank_id()),
            "host_data": Activity.HOST in self.request.activities,
            "device_data": Activity.DEVICE in self.request.activities,
        }


def _notes(operators: Operators) -> tuple[str, ...]:
    """Return a line for a recording without kernels, where tensors say whether they are on the device."""
    on_host = all(signature.placement is Placement.HOST for signature in operators.signatures)
    if device.state().library is None or not len(operators.start_ns) or not on_host:
        return ()
    return (_NOTHING,)
