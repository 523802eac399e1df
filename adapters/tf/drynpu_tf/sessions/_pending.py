"""Runs that were made and are still to be read."""

from __future__ import annotations

import functools
import threading

from attrs import define, evolve, field, frozen

from drynpu_tf.capture import RunKey, SessionCapture
from drynpu_tf.recording import EngineRecording, GraphExecution

RUNS = "some runs of a session"
_MOST_BYTES = 32_000_000
"""Runs are read as soon as they hold so many bytes together, some 200 a node: memory stays bounded."""


@frozen(eq=False)
class PendingRun:
    """One run: its ``RunMetadata`` as TensorFlow serialised it, and the execution of a graph that it was."""

    key: RunKey
    content: bytes
    execution: GraphExecution


@define(eq=False)
class PendingRuns:
    """
    The runs of one session that one recording will have.

    They are read when there are many, and when the recording is written. Reading does not fail: one line says what
    cannot be read, because a profiler does not end a training.
    """

    recorder: EngineRecording
    _capture: SessionCapture
    _lock: threading.Lock = field(factory=threading.Lock)
    _reading: threading.RLock = field(factory=threading.RLock)
    """Held by whoever reads: the session, which may go on meanwhile, the end of the recording, or its journal."""
    _runs: list[PendingRun] = field(factory=list)
    _bytes: int = 0

    @classmethod
    def open(cls, recorder: EngineRecording, capture: SessionCapture) -> PendingRuns:
        """Return an empty list, which hands its runs over when the recording ends."""
        runs = cls(recorder, capture)
        recorder.before_close(runs.hand_over)
        return runs

    def add(self, run: PendingRun) -> None:
        """Add a run that has ended."""
        with self._lock:
            self._runs.append(run)
            self._bytes += len(run.content)
            many = self._bytes >= _MOST_BYTES
        if many:
            self.hand_over()
        self.recorder.save()

    def hand_over(self) -> None:
        """Read all runs, and give them to the recording."""
        with self._reading:
            with self._lock:
                runs, self._runs, self._bytes = self._runs, [], 0
            for run in runs:
                self.recorder.parts.gather(RUNS, functools.partial(self._hand_over, run), None)

    def _hand_over(self, run: PendingRun) -> None:
        captured = self._capture.read(run.key, run.content, run.execution.thread)
        execution = evolve(
            run.execution,
            fusions=captured.fusions,
            points=captured.points,
            consumers=captured.consumers,
            reads=captured.reads,
        )
        self.recorder.add(captured.operators, execution)
