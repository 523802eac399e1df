"""What the profiler's surface calls: a run directory is made, recorded into, and analysed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu_mindspore.profiler import Analysis, RunRequest
from drynpu_mindspore.recording._analyse import analyse, analyse_beside, analyse_offline
from drynpu_mindspore.recording._capture import Capturing
from drynpu_mindspore.recording._log import run_log
from drynpu_mindspore.recording._mindspore_recording import MindSporeRecording

__all__ = ["RecordingBackend"]


@define
class RecordingBackend:
    """
    Records what the surface asks for; see ``profiler.Backend`` for when each method is called.

    Attributes
    ----------
    capture:
        The capture of this process.
    finished:
        MindSporeRecording directories that were written, in order.
    """

    capture: Capturing
    finished: list[Path] = field(factory=list)
    _run: MindSporeRecording | None = None
    _inherited: MindSporeRecording | None = None

    def forked(self) -> None:
        """Leave what was being recorded to the process from which this one has just been forked."""
        self._inherited = self._run
        self.finished.clear()

    def _is_anothers(self) -> bool:
        return self._run is not None and self._run is self._inherited

    def prepare(self) -> None:
        """Have graphs collected from now on: the profiler that was constructed may start after they are compiled."""
        self.capture.graphs.begin()

    def init(self, request: RunRequest) -> Path:
        """Make the run directory with its FRAMEWORK folder, and return its absolute path."""
        run = MindSporeRecording.open(request, self.capture)
        with run_log(run.path) as log:
            log.info("recording on %s, parameters %s", run.chip_name, request.parameters)
        self._run = run
        return run.path

    def start(self) -> None:
        """Record from now on; a second start in the same run directory adds to it."""
        if self._is_anothers():
            return
        run = self._opened()
        with run_log(run.path) as log:
            run.start()
            log.info("started")

    def stop(self) -> None:
        """Record no longer, and write the raw data."""
        if self._is_anothers():
            return
        run = self._opened()
        with run_log(run.path) as log:
            run.stop()
            log.info("stopped: %s kernels", 0 if run.outcome is None else run.outcome.kernels)
            for note in () if run.outcome is None else run.outcome.notes:
                log.info(note)
        if run.path not in self.finished:
            self.finished.append(run.path)

    def finalize(self) -> None:
        """Write what describes the recording."""
        if self._is_anothers():
            return
        self._opened().finalize()

    def write_metadata(self, metadata: Mapping[str, Any], indent: int | None) -> None:
        """Write ``profiler_metadata.json``."""
        if self._is_anothers():
            return
        self._opened().write_metadata(dict(metadata), indent)

    def trace_ready(self) -> None:
        """Take note that the recording is complete; everything was written by then."""

    def clear(self) -> None:
        """Let go of the run directory."""
        self._run = None

    def delete_dir(self) -> None:
        """Take note that the run directory holds nothing; like the vendor's profiler, leave it."""

    def open_step(self, number: int) -> None:
        """Begin the range of a step; without a run directory there is nothing that it could go to."""
        if self._run is not None:
            self._run.marks.open_step(number)

    def close_step(self) -> None:
        """End the range of the step."""
        if self._run is not None:
            self._run.marks.close_step()

    def analyse(self, how: Analysis) -> None:
        """Analyse the current run directory."""
        if self._is_anothers():
            return
        run = self._opened()
        simplify = how.data_simplification
        simplify = run.run.parameters.data_simplification if simplify is None else simplify
        with run_log(run.path) as log:
            parse = analyse_beside if how.asynchronous else analyse
            parse(run.path, simplify=simplify, steps=how.step_list or ())
            log.info("analysis %s", "begun beside the script" if how.asynchronous else "done")

    def analyse_offline(self, runs: Sequence[Path], how: Analysis, processes: int) -> Mapping[Path, str]:
        """Analyse run directories, and return the failed ones with the reason."""
        return analyse_offline(
            runs, simplify=bool(how.data_simplification), steps=how.step_list or (), processes=processes
        )

    def mark(self, message: str, domain: str, stream: object | None) -> None:
        """Note a point of the user's, while something is recorded."""
        if self._run is not None and self._run.recording:
            self._run.marks.mark(message, domain, stream)

    def range_start(self, message: str, domain: str, stream: object | None) -> int:
        """Begin a range of the user's and return its id; 0 while nothing is recorded."""
        if self._run is None or not self._run.recording:
            return 0
        return self._run.marks.range_start(message, domain, stream)

    def range_end(self, range_id: int, domain: str) -> None:
        """End the range with that id."""
        if self._run is not None:
            self._run.marks.range_end(range_id, domain)

    def _opened(self) -> MindSporeRecording:
        assert self._run is not None, "the surface calls init first"
        return self._run
