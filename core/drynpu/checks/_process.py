"""What an adapter notes of one process of a checked script, while it runs."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from attrs import define, evolve, field

from drynpu.checks._observed import (
    Observation,
    ObservedCall,
    ObservedFailure,
    ObservedMessage,
    ObservedOutput,
    ObservedProfiler,
    ObservedWait,
    Place,
)
from drynpu.checks._places import Places
from drynpu.options import Notice, ProfilingRequest, Switches, to_mapping
from drynpu.recorder import CheckCommand, at_process_end

_PROFILER = "profiler"


@define
class StepClock:
    """Says which of the repeated events are steps: the kind that the script has done most often."""

    _times: Counter[object] = field(factory=Counter)
    _most: object = None

    def is_step(self, key: object) -> bool:
        """Count one more of *key*, and return whether it is a step; what comes once is overtaken by what repeats."""
        self._times[key] += 1
        if self._times[key] > self._times[self._most]:
            self._most = key
        return key == self._most


@define(kw_only=True)
class CheckedProcess:
    """
    One process of a script that ``drynpu check`` runs: what it does is noted, its first steps are recorded.

    An adapter calls the methods. `begin` comes first; `ran` and `stepped` follow what repeats, and end the process
    after the last step that is wanted; at its end what was noted is left for `read_observations`.

    Attributes
    ----------
    framework:
        ``tensorflow``, ``mindspore``, ``acl``.
    begin_recording:
        Called with the folder for results when the steps begin that are recorded.
    end_recording:
        Called at the end of the process, to write them.
    peak_bytes:
        Returns the peak of device memory; None where the framework does not say.
    """

    command: CheckCommand
    framework: str
    places: Places
    begin_recording: Callable[[Path], object]
    end_recording: Callable[[], object]
    peak_bytes: Callable[[], int | None] = lambda: None
    rank: str = ""
    steps: int = 0
    profilers: list[ObservedProfiler] = field(factory=list)
    outputs: list[ObservedOutput] = field(factory=list)
    messages: list[ObservedMessage] = field(factory=list)
    _calls: Counter[ObservedCall] = field(factory=Counter)
    _waits: Counter[tuple[str, Place]] = field(factory=Counter)
    _clock: StepClock = field(factory=StepClock)
    _recording: bool = False
    _limited: bool = False
    _failure: ObservedFailure | None = None

    def begin(self) -> None:
        """Note how the process ends, and record from here where no step is to be skipped."""
        shown = sys.excepthook

        def note(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
            text = f"{kind.__name__}: {error}"
            self._failure = ObservedFailure(text=text, place=self.places.failed(traceback))
            shown(kind, error, traceback)

        sys.excepthook = note
        at_process_end(self._write)
        if not self.command.skip_steps:
            self._record()

    def request(self) -> ProfilingRequest:
        """Return what the check itself records: the defaults, with shapes and memory."""
        return ProfilingRequest(switches=Switches(record_shapes=True, profile_memory=True))

    def note_profiler(
        self,
        request: ProfilingRequest,
        *,
        schedule: dict[str, int] | None = None,
        handler: str = "function",
        has_end: bool = True,
    ) -> int:
        """
        Note a profiler that the script has started and that records nothing; return its number here.

        *schedule* and *handler* are fields of `ObservedProfiler`; *has_end* says that the script has to end it, which
        `note_end` notes.
        """
        self.profilers.append(
            ObservedProfiler(
                place=self.places.find(),
                request=dict(to_mapping(request)),
                schedule=schedule,
                has_schedule=schedule is not None,
                handler=handler,
                started=True,
                ended=not has_end,
            )
        )
        return len(self.profilers) - 1

    def note_end(self, number: int) -> None:
        """Note that the script has ended a profiler."""
        self.profilers[number] = evolve(self.profilers[number], ended=True)

    def note_directory(self, path: str) -> None:
        """Note where results would go."""
        self.outputs.append(ObservedOutput(kind="directory", path=path, place=self.places.find()))

    def note_notices(self, notices: tuple[Notice, ...]) -> None:
        """Note what was said of options."""
        for notice in notices:
            self.note_message(notice.severity.name, notice.message, notice.path)

    def note_message(self, severity: str, text: str, option: str = "") -> None:
        """Note what the profiler said; once for each line."""
        noted = ObservedMessage(severity=severity, text=text, option=option, place=self.places.find())
        if noted not in self.messages:
            self.messages.append(noted)

    def note_call(self, name: str, code: int, reason: str = "") -> None:
        """Note a call of the library that returned the code of an error."""
        place = self.places.find()
        if place is not None:
            self._calls[ObservedCall(name=name, code=code, reason=reason, place=place)] += 1

    def note_wait(self, call: str) -> None:
        """Note that the script has waited for the device, while the check records."""
        place = self.places.find() if self._recording else None
        if place is not None:
            self._waits[call, place] += 1

    def ran(self, key: object) -> None:
        """Take over that the script has done something that may be a step; *key* tells what."""
        if self._clock.is_step(key):
            if key != _PROFILER:
                self._count(optimizer_steps=1)
            self._after_step()

    def stepped(self) -> None:
        """Take over that the script has told its profiler of a step."""
        self._count(steps=1)
        self.ran(_PROFILER)

    def _count(self, *, steps: int = 0, optimizer_steps: int = 0) -> None:
        self.profilers[:] = [
            evolve(each, steps=each.steps + steps, optimizer_steps=each.optimizer_steps + optimizer_steps)
            for each in self.profilers
        ]

    def _after_step(self) -> None:
        """Begin the recording after the steps to skip, and end the process after the last."""
        self.steps += 1
        if self.command.first_steps is None:
            return
        if self.steps == self.command.skip_steps:
            self._record()
        if self.steps >= self.command.first_steps:
            self._end()

    def _record(self) -> None:
        self._recording = True
        self.begin_recording(self.command.folder / f"profile_{os.getpid()}")

    def _end(self) -> NoReturn:
        # Exits pass what a script catches, and its `with` and `finally` are carried out.
        self._limited = True
        raise SystemExit(0)

    def _write(self) -> None:
        peak = self.peak_bytes()
        if self._recording:
            self.end_recording()
        Observation(
            pid=os.getpid(),
            framework=self.framework,
            rank=self.rank,
            profiler_steps=self.steps,
            limited=self._limited,
            failure=self._failure,
            peak_allocated_bytes=peak,
            peak_reserved_bytes=peak,
            profilers=tuple(self.profilers),
            outputs=tuple(self.outputs),
            messages=tuple(self.messages),
            waits=tuple(
                ObservedWait(index=index, call=call, place=place, times=times)
                for index, ((call, place), times) in enumerate(self._waits.items())
            ),
            calls=tuple(evolve(call, times=times) for call, times in self._calls.items()),
        ).write(self.command.folder)
