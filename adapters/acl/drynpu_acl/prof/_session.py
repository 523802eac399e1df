"""Sessions: begun by ``start``, by acl.json or by ``drynpu msprof``, one at a time, each a PROF directory."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from attrs import define, field

from drynpu import DrynpuError
from drynpu.kernels import KernelPlan, Signature
from drynpu.options import GraphApi, ProfilingRequest
from drynpu_acl.messages import say
from drynpu_acl.prof._settings import AclSettings
from drynpu_acl.recording import Captured, Marks, Recorder

__all__ = ["Sessions"]


@define
class Sessions:
    """
    What is being recorded, and what was.

    Attributes
    ----------
    plan:
        Tells what an operator of a model launches.
    on_end:
        Called when a recording is over.
    captured:
        Takes what happens; ``None`` while nothing is recorded.
    marks:
        Takes user marks; ``None`` while nothing does.
    finished:
        The PROF directories of this process in order.
    """

    settings: AclSettings
    plan: Callable[[Signature], KernelPlan]
    on_end: Callable[[], None]
    captured: Captured | None = None
    marks: Marks | None = None
    finished: list[Path] = field(factory=list)
    notes: tuple[str, ...] = ()
    _recorder: Recorder | None = None
    _missing_bit: bool = False
    """Whether marks were not asked for and nobody was told yet."""
    _numbers: count[int] = field(factory=count)

    def begin(self, request: ProfilingRequest, directory: Path, *, devices: tuple[int, ...], marks: bool) -> None:
        """Begin a recording of *devices*; *marks* tells whether it takes user marks."""
        if request.switches.graph_api is not GraphApi.OFF:
            say("acl.prof: GE_API: the host's scheduling of dynamic shapes is not simulated: nothing is written for it")
        recorder = Recorder(
            request=request,
            directory=directory,
            devices=devices,
            settings=self.settings.shared,
            chip=self.settings.chip,
            plan=self.plan,
        )
        self._recorder, self.captured = recorder, recorder.captured
        self.marks = recorder.captured.marks if marks else None
        self._missing_bit = not request.switches.tx

    def tell_missing_bit(self) -> None:
        """Say in one line for each recording that it was not asked for the marks that the program makes."""
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
        if self._recorder is not None:
            self._recorder.devices = tuple(sorted({*self._recorder.devices, *devices}))

    def end(self) -> bool:
        """
        Write what was recorded and tell whether that went well.

        What goes wrong is told in one line: a profiler does not end a program.
        """
        recorder, self._recorder = self._recorder, None
        self.captured = self.marks = None
        if recorder is None:
            return True
        self.on_end()
        try:
            outcome = recorder.close(next(self._numbers))
        except (DrynpuError, OSError) as error:
            recorder.abandon()
            self.notes = (f"no profile was written: {error}",)
            say(f"acl.prof: {self.notes[0]}")
            return False
        if outcome.prof_path is not None:
            self.finished.append(outcome.prof_path)
        self.notes = outcome.notes
        for note in self.notes:
            say(note)
        return True

    def show(self) -> None:
        """Print the summary of the last recording, as other frameworks do at the end of a process."""
        if not self.finished or self.settings.shared.quiet or os.environ.get("RANK_ID", "0") != "0":
            return
        from drynpu.products import load_profile
        from drynpu.views import print_summary

        try:
            print_summary(load_profile(self.finished[-1]), others=self.finished[:-1])
        except (DrynpuError, OSError) as error:
            say(f"no summary: {error}")
