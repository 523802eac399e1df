"""The backend of a process that ``drynpu check`` looks at: profilers are noted, and its first steps recorded."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

import drynpu_mindspore
from drynpu.checks import CheckedProcess, Places
from drynpu.platforms import Chip
from drynpu.recorder import CheckCommand
from drynpu_mindspore.profiler import Analysis, ProfilerLevel, RunRequest, UserLog
from drynpu_mindspore.recording._backend import RecordingBackend
from drynpu_mindspore.recording._request import profiling_request

_UNWRITTEN = "unwritten"
_WAITS = {
    "asnumpy": "asnumpy()",
    "item": "item()",
    "tolist": "tolist()",
    "__bool__": "a tensor as a condition",
    "__float__": "float() of a tensor",
    "__int__": "int() of a tensor",
    "__repr__": "a tensor printed",
    "__str__": "a tensor printed",
}
"""Methods of a tensor that wait for the device, as a finding names them."""


@frozen
class NotingLog(UserLog):
    """A log of the profiler that notes what the user is told."""

    process: CheckedProcess

    def warning(self, text: str) -> None:
        """Note a warning."""
        self.process.note_message("WARNING", text)

    def error(self, text: str) -> None:
        """Note an error."""
        self.process.note_message("ERROR", text)

    def warn(self, text: str) -> None:
        """Note a Python warning."""
        self.process.note_message("WARNING", text)


@define
class CheckedBackend(RecordingBackend):
    """
    A backend that notes what the script's profilers would record, and records what the check asks for.

    ``start_check`` makes it complete.
    """

    process: CheckedProcess | None = None
    settle: Callable[[], None] = field(default=lambda: None)
    recorded: Callable[[], RunRequest] | None = None
    """Returns the run that the check records; its folder and parameters are set here."""
    chip: Chip | None = None

    def configured(self, request: RunRequest) -> None:
        """Note a profiler that the script has constructed."""
        assert self.process is not None
        assert self.chip is not None
        handler = request.parameters.on_trace_ready
        self.process.note_profiler(
            profiling_request(request, self.chip),
            schedule=request.parameters.schedule.to_dict() if request.is_set_schedule else None,
            handler="" if handler is None else "function",
            has_end=False,
        )
        self.process.note_directory(str(request.folder))

    def init(self, request: RunRequest) -> Path:
        """Return a directory that is not there."""
        del request
        assert self.process is not None
        return self.process.command.folder / _UNWRITTEN

    def start(self) -> None:
        """Record nothing for the script."""

    def stop(self) -> None:
        """Stop nothing: a schedule stops, and starts again."""

    def finalize(self) -> None:
        """Write nothing."""

    def write_metadata(self, metadata: Mapping[str, object], indent: int | None) -> None:
        """Write nothing."""

    def clear(self) -> None:
        """Keep the recording of the check, which is none of the script's."""

    def exchange(self, held: object) -> object:
        """Keep the recording of the check, too."""
        return held

    def save(self, settle: Callable[[], None], metadata: Mapping[str, object]) -> None:
        """Save nothing."""

    def analyse(self, how: Analysis) -> None:
        """Analyse nothing."""

    def close_step(self) -> None:
        """Count a step of a profiler."""
        super().close_step()
        if self.process is not None:
            self.process.stepped()

    def trained(self) -> None:
        """Count a step of the training."""
        if self.process is not None:
            self.process.ran("callbacks")

    def begin_check(self, folder: Path) -> None:
        """Begin the recording of the check."""
        assert self.recorded is not None
        self.settle()
        folder.mkdir(parents=True, exist_ok=True)
        run = self.recorded()
        parameters = evolve(
            run.parameters, profiler_level=ProfilerLevel.Level1, record_shapes=True, profile_memory=True
        )
        super().init(evolve(run, folder=folder, parameters=parameters))
        super().start()

    def end_check(self) -> None:
        """Write it, with the operators that are still to run."""
        self.settle()
        super().stop()
        super().finalize()
        self.finished.clear()


def start_check(
    text: str, backend: CheckedBackend, *, chip: Chip, settle: Callable[[], None], recorded: Callable[[], RunRequest]
) -> CheckedProcess:
    """
    Note what this process does from now on, as *text*, a `CheckCommand`, says.

    Raises
    ------
    OptionError
        The command cannot be read.
    """
    process = CheckedProcess(
        command=CheckCommand.from_text(text),
        framework="mindspore",
        places=Places.beside(drynpu_mindspore),
        rank=os.environ.get("RANK_ID", ""),
        begin_recording=backend.begin_check,
        end_recording=backend.end_check,
    )
    backend.process, backend.chip, backend.settle, backend.recorded = process, chip, settle, recorded
    return process


def follow_steps(process: CheckedProcess, package: Any) -> None:
    """Have the steps of a training noticed that its optimizer or its training cell makes, and lines that wait."""
    for kind in (package.nn.TrainOneStepCell, package.nn.Optimizer):
        _follow(kind, "__call__", lambda _: process.ran("training"))
    for name, call in _WAITS.items():
        if hasattr(package.Tensor, name):
            _follow(package.Tensor, name, functools.partial(_note_wait, process, call))


def _note_wait(process: CheckedProcess, call: str, _: object) -> None:
    process.note_wait(call)


def _follow(owner: object, name: str, note: Callable[[object], None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def followed(self: Any, *values: object, **named: object) -> Any:
        result = original(self, *values, **named)
        note(self)
        return result

    setattr(owner, name, followed)
