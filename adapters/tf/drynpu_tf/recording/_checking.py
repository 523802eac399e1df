"""The graph engine of a process that ``drynpu check`` looks at: recordings are noted, runs are its steps."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import define, evolve, field

import drynpu_tf
from drynpu.checks import CheckedProcess, Places
from drynpu.options import Notice, ProfilingRequest
from drynpu.recorder import CheckCommand
from drynpu_tf.recording._engine_recording import EngineRecording
from drynpu_tf.recording._graph_engine import GraphEngine


@define
class CheckedEngine(GraphEngine):
    """
    An engine that records what the check asks for, from the first step to record on, whatever sessions ask for.

    ``process`` notes what they ask for.
    """

    process: CheckedProcess | None = None
    _wanted: dict[int, int] = field(factory=dict)
    """Users of the engine that have a profile, with its number in ``process``."""
    _checked: EngineRecording | None = None

    @property
    def follows(self) -> bool:
        """Whether runs are to be told of, and everything on the device to be captured."""
        return True

    def join(self, user: int, request: ProfilingRequest, device_id: int = 0) -> EngineRecording:
        """Note what *user* would record, and return a recording that is not written."""
        assert self.process is not None
        self._note(user, request)
        return EngineRecording.unopened(self.process.request(), Path(), device_id=device_id)

    def recorder(self, user: int) -> EngineRecording | None:
        """Return the recording of the check, whoever asks; ``None`` before its first step."""
        del user
        return self._checked

    def arm(self, request: ProfilingRequest) -> None:
        """Note what local profiling would record."""
        self._note(id(self), request)
        self._armed = request

    @property
    def armed(self) -> bool:
        """Whether local profiling is armed, to those who arm it; no session begins it."""
        return False

    def disarm(self) -> None:
        """Note that local profiling has ended."""
        self._armed = None
        self.leave(id(self))

    def leave(self, user: int) -> None:
        """Note that *user* has ended its profile."""
        number = self._wanted.pop(user, None)
        if number is not None and self.process is not None:
            self.process.note_end(number)

    def noticed(self, notices: tuple[Notice, ...]) -> None:
        """Note what was said of options."""
        if self.process is not None:
            self.process.note_notices(notices)

    def ran(self, key: object) -> None:
        """Count a run, which may be a step."""
        if self.process is not None:
            self.process.ran(key)

    def begin_check(self, directory: Path) -> None:
        """Begin the recording of the check."""
        assert self.process is not None
        self._checked = EngineRecording.open(_with_iterations(self.process.request()), directory)

    def end_check(self) -> None:
        """Write it."""
        recording, self._checked = self._checked, None
        if recording is not None:
            recording.close()

    def _note(self, user: int, request: ProfilingRequest) -> None:
        if self.process is not None and user not in self._wanted:
            self._wanted[user] = self.process.note_profiler(request)
            self.process.note_directory(request.output.directory or "")


def _with_iterations(request: ProfilingRequest) -> ProfilingRequest:
    """Return *request* with the trace of iterations: they are the steps of a graph that a device runs."""
    return evolve(request, switches=evolve(request.switches, training_trace=True))


def checked_engine(text: str) -> CheckedEngine:
    """
    Return the engine of a process that is checked as *text*, a `CheckCommand`, says.

    Raises
    ------
    OptionError
        The command cannot be read.
    """
    engine = CheckedEngine()
    engine.process = CheckedProcess(
        command=CheckCommand.from_text(text),
        framework="tensorflow",
        places=Places.beside(drynpu_tf),
        rank=os.environ.get("RANK_ID", ""),
        begin_recording=engine.begin_check,
        end_recording=engine.end_check,
    )
    engine.process.begin()
    return engine
