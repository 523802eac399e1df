"""What ``drynpu check`` notes in a process that uses pyACL: its profiling, calls that fail, a recording of its runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from attrs import define

import drynpu_acl
from drynpu.checks import CheckedProcess, Places
from drynpu.options import ProfilingRequest
from drynpu.recorder import CheckCommand
from drynpu_acl.constants import ReturnCode
from drynpu_acl.prof._session import Sessions
from drynpu_acl.recording import CapturedCalls

_RUNS = frozenset({"acl.mdl.execute", "acl.mdl.execute_async", "acl.mdl.execute_v2", "acl.mdl.execute_async_v2"})
"""Calls that are a step of the script: one run of a model."""
_WAITS = frozenset({"acl.rt.synchronize_stream", "acl.rt.synchronize_device", "acl.rt.synchronize_event"})
_CODES = frozenset(code.value for code in ReturnCode) - {ReturnCode.SUCCESS}
_HARMLESS = frozenset({("acl.init", ReturnCode.REPEAT_INITIALIZE), ("acl.finalize", ReturnCode.REPEAT_FINALIZE)})
_WITHOUT_CODE = ("get_", "create_")
"""Functions that return a number or a handle alone begin so; what they return with a code is a tuple."""


@define
class CheckedSessions(Sessions):
    """Sessions that note what the script begins and record what the check asks for instead."""

    process: CheckedProcess | None = None
    _number: int | None = None

    def begin(self, request: ProfilingRequest, directory: Path, *, devices: tuple[int, ...], marks: bool) -> None:
        """Note a recording of the script."""
        del devices, marks
        if self.process is not None:
            self._number = self.process.note_profiler(request)
            self.process.note_directory(str(directory))
        if self.marks is None:
            self.marks = CapturedCalls().marks  # calls that mark have to succeed, though nobody reads it

    def end(self) -> bool:
        """Note that the script has ended its recording."""
        number, self._number = self._number, None
        if self.process is not None and number is not None:
            self.process.note_end(number)
        if self.captured is None:
            self.marks = None
        return True

    def show(self) -> None:
        """Print nothing: the check says what there is to say."""

    def record(self, request: ProfilingRequest, directory: Path, devices: int) -> None:
        """Begin the recording of the check."""
        super().begin(request, directory, devices=tuple(range(max(devices, 1))), marks=True)

    def finish(self) -> None:
        """Write it."""
        super().end()


def note_result(process: CheckedProcess, name: str, result: object) -> None:
    """Note what the function *name* of the library returned: the code of an error, or that a step is over."""
    code = _code(name, result)
    if code in _CODES and (name, code) not in _HARMLESS:
        process.note_call(name, code, ReturnCode(code).name)
    elif name in _WAITS:
        process.note_wait(f"{name}()")
    elif name in _RUNS:
        process.ran("execution")


def _code(name: str, result: object) -> int:
    """Return the code of an error in what a call returned, 0 where there is none."""
    if isinstance(result, tuple):
        result = result[-1] if result else 0
    elif name.rpartition(".")[2].startswith(_WITHOUT_CODE):
        return 0
    return result if type(result) is int else 0


def start_check(text: str, sessions: CheckedSessions, devices: int, peak_bytes: Callable[[], int]) -> CheckedProcess:
    """
    Note what this process does from now on, as *text*, a `CheckCommand`, says.

    Raises
    ------
    OptionError
        The command cannot be read.
    """
    process = CheckedProcess(
        command=CheckCommand.from_text(text),
        framework="acl",
        places=Places.beside(drynpu_acl),
        rank=os.environ.get("RANK_ID", ""),
        begin_recording=lambda folder: sessions.record(process.request(), folder, devices),
        end_recording=sessions.finish,
        peak_bytes=peak_bytes,
    )
    sessions.process = process
    process.begin()
    return process
