"""Sessions: begun by ``start``, by acl.json or by ``drynpu msprof``, one at a time, each a PROF directory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from attrs import define, field

from drynpu import OutputError, say
from drynpu.options import GraphApi, ProfilingRequest
from drynpu.recorder import Planner, Recorder
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.recording import FRAMEWORK, CapturedCalls, DevicesRecording, MarkRows


@define
class Sessions:
    """
    What is being recorded, and what was.

    Attributes
    ----------
    plan:
        Maps the operators of models to kernels.
    on_end:
        Called when a recording is over.
    captured:
        Takes what happens; ``None`` while nothing is recorded.
    marks:
        Takes marks of the script; ``None`` while nothing does.
    finished:
        The PROF directories of this process in order.
    """

    settings: AclSettings
    plan: Planner
    on_end: Callable[[], None]
    captured: CapturedCalls | None = None
    marks: MarkRows | None = None
    finished: list[Path] = field(factory=list)
    notes: tuple[str, ...] = ()
    _recording: DevicesRecording | None = None
    _missing_bit: bool = False
    """Whether the request lacks marks and the user has not been told."""

    def begin(self, request: ProfilingRequest, directory: Path, *, devices: tuple[int, ...], marks: bool) -> None:
        """Begin a recording of *devices*; *marks* says whether it has marks of the script."""
        if request.switches.graph_api is not GraphApi.OFF:
            say("acl.prof: GE_API: the host's scheduling of dynamic shapes is not simulated: nothing is written for it")
        recorder = Recorder(
            framework=FRAMEWORK, request=request, settings=self.settings.shared, chip=self.settings.chip
        )
        recorder.start()
        with suppress(OutputError):  # the end of the recording tells of it
            recorder.reserve(directory)
        self._recording = DevicesRecording(recorder=recorder, directory=directory, devices=devices, plan=self.plan)
        self.captured = self._recording.captured
        self.marks = self.captured.marks if marks else None
        self._missing_bit = not request.switches.tx

    def tell_missing_bit(self) -> None:
        """Print once for each recording that its configuration lacks the marks that the program makes."""
        if self.captured is None or not self._missing_bit:
            return
        self._missing_bit = False
        lacks = "acl.prof: the configuration lacks ACL_PROF_MSPROFTX (0x80), or msproftx is not on"
        if self.marks is None:
            say(f"{lacks}: there are no stamps")
        else:
            say(f"{lacks}; stamps are recorded all the same. A device gives none (DRYNPU_STRICT=1 shows that).")

    def extend(self, devices: tuple[int, ...]) -> None:
        """Record further devices."""
        if self._recording is not None:
            self._recording.devices = tuple(sorted({*self._recording.devices, *devices}))

    def save(self) -> None:
        """Save what is being recorded, now that a call of the script is over."""
        recording = self._recording
        if recording is not None:
            recording.save()

    def end(self) -> bool:
        """
        Write what was recorded and return whether that succeeded.

        One line says what goes wrong: a profiler does not end a program.
        """
        recording, self._recording = self._recording, None
        self.captured = self.marks = None
        if recording is None:
            return True
        self.on_end()
        try:
            outcome = recording.close()
        except Exception as error:  # noqa: BLE001 - the script goes on, whatever befalls its profile
            recording.recorder.stop()
            recording.recorder.release()
            self.notes = (recording.recorder.failure(error),)
            say(f"acl.prof: {self.notes[0]}")
            return False
        if outcome.prof_path is not None:
            self.finished.append(outcome.prof_path)
        self.notes = outcome.notes
        from drynpu.views import say_notes

        say_notes(self.notes)
        return True

    def show(self) -> None:
        """Print the summary of the last recording, as other frameworks do at the end of a process."""
        if self.finished and not self.settings.shared.quiet:
            from drynpu.views import show_finished

            show_finished(self.finished, say)
