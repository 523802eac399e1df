"""The first steps of a script: the lines of the first, the recording of the others, the end after the last."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import NoReturn

import torch
from attrs import define, field

from drynpu.checks import Observation, ObservedFailure
from drynpu.recorder import CheckCommand, ProfileCommand, at_process_end
from drynpu_torch import device
from drynpu_torch.profiler._unattended import UnattendedProfile, after_every_step
from drynpu_torch.profiler.checking._lines import Lines
from drynpu_torch.profiler.checking._places import PLACES
from drynpu_torch.profiler.checking._waits import Waits
from drynpu_torch.profiler.checking._watching import Watch


@define
class CheckedScript:
    """One process of a script that ``drynpu check`` runs."""

    command: CheckCommand
    lines: Lines = field(factory=Lines)
    waits: Waits = field(factory=Waits)
    watch: Watch = field(init=False)
    unattended: UnattendedProfile = field(init=False)
    _optimizer: torch.optim.Optimizer | None = None
    _optimizer_steps: int = 0
    _profiler_steps: int = 0
    _limited: bool = False
    _failure: ObservedFailure | None = None

    def __attrs_post_init__(self) -> None:
        self.watch = Watch(self._after_profiler_step, self.command.folder)
        first, skipped = self.command.first_steps, self.command.skip_steps
        self.unattended = UnattendedProfile(
            ProfileCommand(
                skip_steps=skipped,
                record_steps=None if first is None else max(first - skipped, 1),
                directory=self.command.folder / f"profile_{os.getpid()}",
            )
        )

    def begin(self) -> None:
        """Prepare everything; called once, when PyTorch has been imported."""
        shown = sys.excepthook

        def note(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
            text = f"{kind.__name__}: {error}"
            self._failure = ObservedFailure(text=text, place=PLACES.failed(traceback))
            shown(kind, error, traceback)

        sys.excepthook = note
        self.watch.install()
        self.waits.install()
        at_process_end(self.write)
        at_process_end(self.unattended.at_exit)
        after_every_step(self._after_optimizer_step)
        if self.command.skip_steps:
            self.lines.begin()
        else:
            self.unattended.begin()

    def write(self) -> None:
        """Leave what was noted."""
        allocated, reserved = _peaks()
        Observation(
            pid=os.getpid(),
            rank=os.environ.get("RANK", ""),
            served_by="sink" if device.state().library is None else "native",
            optimizer_steps=self._optimizer_steps,
            profiler_steps=self._profiler_steps,
            limited=self._limited,
            failure=self._failure,
            peak_allocated_bytes=allocated,
            peak_reserved_bytes=reserved,
            profilers=self.watch.profilers(),
            outputs=tuple(self.watch.outputs),
            messages=tuple(self.watch.messages),
            waits=self.waits.lines(),
            operators=self.lines.operators(),
        ).write(self.command.folder)

    def _after_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self._optimizer is None:
            self._optimizer = optimizer
        if optimizer is not self._optimizer:
            return
        self._optimizer_steps += 1
        self.watch.after_optimizer_step()
        self._after_step(optimizer, self._optimizer_steps)

    def _after_profiler_step(self, profiler: object) -> None:
        self._profiler_steps += 1
        if self._optimizer is None:
            self._after_step(profiler, self._profiler_steps)

    def _after_step(self, clock: object, steps: int) -> None:
        if self.command.first_steps is None:
            return
        if steps == self.command.skip_steps - 1:
            self.lines.forget()  # the first step sets up the optimizer and caches
        elif steps == self.command.skip_steps:
            self.lines.end()
        self.unattended.after_step(clock)
        if steps >= self.command.first_steps:
            self._end()

    def _end(self) -> NoReturn:
        # Exits pass what a script catches, and its `with` and `finally` are carried out.
        self._limited = True
        raise SystemExit(0)


def _peaks() -> tuple[int | None, int | None]:
    if device.state().library is None:
        return None, None
    return int(device.npu.max_memory_allocated()), int(device.npu.max_memory_reserved())
