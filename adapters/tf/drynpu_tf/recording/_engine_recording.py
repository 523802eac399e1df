"""One recording of the device, from the graph engine's start to its end."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attrs import define, evolve, field

from drynpu import say, without_collections
from drynpu.device import LaunchMode
from drynpu.kernels import Operators, usual_calibration
from drynpu.kernels.ops import without_constants
from drynpu.options import ProfilingRequest
from drynpu.recorder import SAVE_INTERVAL_NS, OptionalParts, Planner, RankRendezvous, Recorder, framework_plan
from drynpu.simulate import Recording
from drynpu_tf.ranks import RANKS, rank_count, rank_number
from drynpu_tf.recording._timeline import GraphExecution, Part, Progress, Timeline, join, node_plans
from drynpu_tf.rules import FALLBACKS

_FRAMEWORK = "tensorflow"
_MEETING = "the meeting with other ranks"


@define
class EngineRecording:
    """
    What was captured so far, and where it will go.

    Make one with :meth:`open`; :meth:`close` writes. Before that there is on disk what :meth:`save` took.
    """

    directory: Path
    device_id: int
    _recorder: Recorder
    _parts: list[Part] = field(factory=list)
    _sources: list[Callable[[], None]] = field(factory=list)
    _remarks: list[str] = field(factory=list)
    _saved: int = 0
    _saved_ns: int = field(factory=time.time_ns)
    _progress: Progress = field(factory=Progress)

    @classmethod
    def open(cls, request: ProfilingRequest, output_dir: Path, *, device_id: int = 0) -> EngineRecording:
        """
        Begin a recording that will leave a ``PROF_*`` directory in *output_dir*.

        Raises
        ------
        ChipError
            The chip of the settings does not exist.
        """
        recorder = Recorder.open(_FRAMEWORK, request)
        recorder.start()
        # Read now, before the first step, so that the end of the recording does not wait for it.
        usual_calibration()
        recorder.parts.gather(_MEETING, RANKS.begin_recording, None)
        return cls(output_dir, device_id, recorder)

    @classmethod
    def unopened(cls, request: ProfilingRequest, output_dir: Path, *, device_id: int = 0) -> EngineRecording:
        """
        Return a recording that has not begun and is never written.

        Raises
        ------
        ChipError
            The chip of the settings does not exist.
        """
        return cls(output_dir, device_id, Recorder.open(_FRAMEWORK, request))

    @property
    def request(self) -> ProfilingRequest:
        """What is recorded."""
        return self._recorder.request

    @property
    def begin_ns(self) -> int:
        """When it began, Unix ns."""
        return self._recorder.begin_ns

    @property
    def parts(self) -> OptionalParts:
        """Gathers what the recording can do without."""
        return self._recorder.parts

    def failure(self, error: Exception) -> str:
        """Return the line about a recording that could not be written, or not to its end."""
        return self._recorder.failure(error)

    @property
    def split_cores(self) -> bool:
        """Whether the chip has cube and vector cores apart."""
        return self._recorder.chip.split

    def _make_plan(self) -> Planner:
        """Return what maps operators to kernels of the chip's library."""
        plan = framework_plan(_FRAMEWORK, FALLBACKS)
        compiles_constants = self._recorder.chip.platform.compiles_constants
        return node_plans(plan if compiles_constants else without_constants(plan))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was requested and is not written, one readable line each; empty before :meth:`close`."""
        return () if self._recorder.outcome is None else self._recorder.outcome.notes

    def add(self, operators: Operators, execution: GraphExecution | None = None) -> None:
        """Take over captured operators of one *execution* of a graph, or without one launched one by one."""
        self._parts.append(Part(operators, execution))

    def remark(self, note: str) -> None:
        """Have readers of the profile told something, once."""
        if note not in self._remarks:
            self._remarks.append(note)

    def save(self, most_unsaved: int = 0) -> None:
        """
        Have what was captured since the last time saved for the case of a kill; at most every half second.

        Nothing is saved while there are no more than *most_unsaved* operators.
        """
        now_ns = time.time_ns()
        if now_ns - self._saved_ns < SAVE_INTERVAL_NS:
            return
        if most_unsaved and sum(len(part.operators) for part in self._parts[self._saved :]) <= most_unsaved:
            return
        self._saved_ns = now_ns
        self._recorder.save(
            lambda: {self.device_id: self._saved_part(now_ns)},
            self._make_plan,
            self.directory,
            warn=say,
            **_fields(),
        )

    def _saved_part(self, end_ns: int) -> Recording:
        """Read what was captured, and return what the last call of this has not returned."""
        for source in tuple(self._sources):
            source()
        begin, self._saved = self._saved, len(self._parts)
        plan = self._make_plan()
        return self._recording(join(self._parts[begin : self._saved], plan, self._progress), end_ns)

    def _recording(self, timeline: Timeline, end_ns: int) -> Recording:
        recorder = self._recorder
        return Recording(
            operators=timeline.operators,
            begin_ns=recorder.begin_ns,
            end_ns=max(end_ns, *(graph.iterations[-1].end_ns for graph in timeline.graphs), 0),
            host_calls=timeline.marks,
            graphs=timeline.graphs,
            dataset=timeline.dataset,
            collectives=tuple(each.collective for each in timeline.issued),
            # npu_device has no task queue: the thread that calls an operator outside of graphs launches it.
            launch_mode=LaunchMode.CALLER,
        )

    def before_close(self, source: Callable[[], None]) -> None:
        """Have *source* called when the recording ends: it adds what it still holds."""
        self._sources.append(source)

    @without_collections()
    def close(self) -> Path | None:
        """
        Write the PROF directory with its results and return it; ``None``, and nothing is left, if nothing was added.

        Raises
        ------
        OutputError
            A file cannot be written.
        """
        recorder = self._recorder
        recorder.stop()
        for source in self._sources:
            recorder.parts.gather("what ran last", source, None)
        self._sources.clear()
        if not self._parts:
            with RANKS.end_recording(()):
                return None
        end_ns = recorder.end_ns()
        plan = self._make_plan()
        timeline = join(self._parts, plan)
        recording = evolve(self._recording(timeline, end_ns), host_samples=recorder.host_samples)
        self._write(recording, timeline, plan)
        path = recorder.deliver()
        recorder.settle()
        self._parts.clear()
        return path

    def _write(self, recording: Recording, timeline: Timeline, plan: Planner) -> None:
        """Write the raw data; the ranks meet while it is simulated."""
        recorder = self._recorder
        calls = [each.call for each in sorted(timeline.issued, key=lambda each: each.collective.start_ns)]
        with recorder.parts.during(_MEETING, lambda: RANKS.end_recording(calls), RankRendezvous()) as others:
            recording = evolve(recording, rendezvous=others)
            outcome = recorder.write({self.device_id: recording}, plan, self.directory, **_fields())
        left_out = [
            f"{count} {name} of unknown size left out of the profile" for name, count in timeline.left_out.items()
        ]
        recorder.outcome = evolve(outcome, notes=(*outcome.notes, *self._remarks, *others.notes, *left_out))


def _fields() -> dict[str, Any]:
    """Return the fields of the destination that its directory does not say."""
    return {"rank_id": _rank(), "host_data": False}


def _rank() -> int:
    """Return the rank of this process, -1 where it has none."""
    return rank_number(os.environ) if rank_count(os.environ) > 1 or "RANK_ID" in os.environ else -1
