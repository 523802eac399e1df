"""The backend of the profiler's surface: it makes a run directory, records into it, and analyses it."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attrs import define, field

from drynpu import say
from drynpu.kernels import Call
from drynpu.recorder import recover
from drynpu_mindspore.capture import CapturedPart, Capturing
from drynpu_mindspore.profiler import Analysis, RunRequest
from drynpu_mindspore.recording._analyse import analyse, analyse_beside, analyse_offline
from drynpu_mindspore.recording._directory import run_log
from drynpu_mindspore.recording._mindspore_recording import MindSporeRecording
from drynpu_mindspore.recording._ranks import JobRanks
from drynpu_mindspore.recording._sunk import NewGraphEngine


@define
class RecordingBackend:
    """
    Records what the surface asks for; see ``profiler.Backend`` for when each method is called.

    Attributes
    ----------
    capture:
        The capture of this process.
    ranks:
        The other ranks of its job.
    finished:
        Run directories that were written, in order.
    new_graph_engine:
        What a plugin has brought for graphs at jit level O2.
    before_changes:
        Called before a recording begins or ends, by plugins that use the capture where nothing is recorded.
    """

    capture: Capturing
    ranks: JobRanks = field(factory=JobRanks)
    finished: list[Path] = field(factory=list)
    new_graph_engine: NewGraphEngine | None = None
    before_changes: list[Callable[[], None]] = field(factory=list)
    _recording: MindSporeRecording | None = None

    def use_graph_engine(self, new: NewGraphEngine) -> None:
        """Have the graphs of jit level O2 compiled, in recordings that begin from now on."""
        self.new_graph_engine = new

    def finish_at_exit(self, finish: Callable[[], None]) -> None:
        """At the end of this process call *finish*, which ends recordings, and show what the last run holds."""
        # Registered first, so done after the last recording is written.
        atexit.register(self.ranks.close)
        os.register_at_fork(after_in_child=self._leave_to_parent)
        atexit.register(self._finish, finish)

    def _leave_to_parent(self) -> None:
        """Leave what is being recorded to the process from which this one has just been forked."""
        self._recording, self.ranks = None, JobRanks()
        self.finished.clear()

    def _finish(self, finish: Callable[[], None]) -> None:
        finish()
        if self.finished:
            from drynpu.views import show_finished

            show_finished(self.finished, lambda text: sys.stderr.write(f"[drynpu] {text}\n"))

    def prepare(self) -> None:
        """Start collecting graphs, since the new profiler may start only after they are compiled."""
        self.capture.graphs.begin()

    def init(self, request: RunRequest) -> Path:
        """Make the run directory with its FRAMEWORK folder, and return its absolute path."""
        recording = MindSporeRecording.open(request, self.capture, self.ranks, self.new_graph_engine)
        with run_log(recording.path) as log:
            log.info("recording on %s, parameters %s", recording.chip_name, request.parameters)
        self._recording = recording
        return recording.path

    def start(self) -> None:
        """Start recording; a second start in the same run directory adds to it."""
        self._announce()
        if self._recording is not None:
            with run_log(self._recording.path) as log:
                self._recording.start()
                log.info("started")

    def stop(self) -> None:
        """Stop recording, and write the raw data."""
        recording = self._recording
        if recording is None:
            return
        self._announce()
        with run_log(recording.path) as log:
            recording.stop()
            log.info("stopped: %s kernels", 0 if recording.outcome is None else recording.outcome.kernels)
            for note in () if recording.outcome is None else recording.outcome.notes:
                log.info(note)
        if recording.path not in self.finished:
            self.finished.append(recording.path)

    def cut(self) -> CapturedPart | None:
        """End a part of what is recorded and go on; return the part, ``None`` where nothing is recorded."""
        return None if self._recording is None else self._recording.cut()

    def _announce(self) -> None:
        for each in self.before_changes:
            each()

    def finalize(self) -> None:
        """Write what describes the recording."""
        if self._recording is not None:
            self._recording.finalize()

    def write_metadata(self, metadata: Mapping[str, object], indent: int | None) -> None:
        """Write ``profiler_metadata.json``."""
        if self._recording is not None:
            self._recording.write_metadata(dict(metadata), indent)

    def trace_ready(self) -> None:
        """Do nothing: everything has been written when the recording is complete."""

    def clear(self) -> None:
        """Forget the run directory."""
        self._recording = None

    def exchange(self, held: object) -> object:
        """Go on with another recording, or with none; return the current one."""
        before, self._recording = self._recording, held if isinstance(held, MindSporeRecording) else None
        return before

    def delete_dir(self) -> None:
        """Leave the empty run directory where it is, as the vendor's profiler does."""

    def save(self, settle: Callable[[], None], metadata: Mapping[str, object]) -> None:
        """Have what was recorded saved, where enough time has passed since the last time."""
        if self._recording is not None:
            self._recording.save(settle, metadata)

    def configured(self, request: RunRequest) -> None:
        """Do nothing: what records begins with `init`."""

    def trained(self) -> None:
        """Do nothing: steps are told by the profiler."""

    def open_step(self, number: int) -> None:
        """Begin the range of a step; without a run directory there is nothing that it could go to."""
        if self._recording is not None:
            self._recording.marks.open_step(number)

    def close_step(self) -> None:
        """End the range of the step."""
        if self._recording is not None:
            self._recording.marks.close_step()

    def analyse(self, how: Analysis) -> None:
        """Analyse the current run directory."""
        recording = self._recording
        if recording is None:
            return
        simplify = how.data_simplification
        simplify = recording.run.parameters.data_simplification if simplify is None else simplify
        with run_log(recording.path) as log:
            parse = analyse_beside if how.asynchronous else analyse
            parse(recording.path, simplify=simplify, steps=how.step_list or ())
            log.info("analysis %s", "begun beside the script" if how.asynchronous else "done")

    def analyse_offline(self, runs: Sequence[Path], how: Analysis, processes: int) -> Mapping[Path, str]:
        """Analyse run directories, and return the failed ones with the reason; what was killed is recovered first."""
        for run in runs:
            recover(run, say)
        return analyse_offline(
            runs, simplify=bool(how.data_simplification), steps=how.step_list or (), processes=processes
        )

    def mark(self, message: str, domain: str, stream: object | None) -> None:
        """Record a point, while something is recorded."""
        if self._recording is not None and self._recording.recording:
            self._recording.marks.mark(message, domain, stream)

    def note(self, call: Call) -> None:
        """Record a call of which the framework's profiler knows nothing, while something is recorded."""
        if self._recording is not None and self._recording.recording:
            self._recording.marks.calls.append(call)

    def range_start(self, message: str, domain: str, stream: object | None) -> int:
        """Begin a range and return its id; 0 while nothing is recorded."""
        if self._recording is None or not self._recording.recording:
            return 0
        return self._recording.marks.range_start(message, domain, stream)

    def range_end(self, range_id: int, domain: str) -> None:
        """End the range with that id."""
        if self._recording is not None:
            self._recording.marks.range_end(range_id, domain)
