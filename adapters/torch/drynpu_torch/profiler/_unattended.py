"""
A profile of a training script that has no profiler code, for ``drynpu run --profile``.

A step ends where an optimizer has stepped: the first optimizer that steps in the process is the clock. Steps are
marked as the vendor's schedule marks them, with ``ProfilerStep#N``, N counted from 0.
"""

from __future__ import annotations

import functools
import multiprocessing
import sys
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch

from drynpu import DrynpuError
from drynpu.recorder import ProfileCommand, at_process_end
from drynpu_torch.device import state
from drynpu_torch.device.npu.memory import memory_stats
from drynpu_torch.profiler._analyse import summarise_at_exit
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._interface import ProfInterface
from drynpu_torch.profiler._messages import print_error, print_warning
from drynpu_torch.profiler._process import PROCESS
from drynpu_torch.profiler._values import ProfilerLevel, supported_activities

_LAUNCHER = "torch.distributed.launcher"
"""The module that torchrun imports and its processes do not."""


def start_unattended(text: str) -> None:
    """
    Prepare the profile that *text*, a `ProfileCommand`, describes; it begins at the first step to record.

    Raises
    ------
    OptionError
        The command cannot be read.
    """
    profile = UnattendedProfile(ProfileCommand.from_text(text))
    summarise_at_exit()
    at_process_end(profile.at_exit)
    if profile.command.record_steps is not None:
        after_every_step(profile.after_step)
    if profile.command.skip_steps == 0:
        profile.begin()


class UnattendedProfile:
    """The recording of some steps. Its methods print errors: a profile must not end a training run."""

    def __init__(self, command: ProfileCommand) -> None:
        self.command = command
        self._steps_done = 0
        self._clock: weakref.ref[Any] | None = None
        self._interface: ProfInterface | None = None
        self._step = ExitStack()
        self._over = False

    @property
    def recording(self) -> bool:
        """Whether operators are being recorded right now."""
        return self._interface is not None and not self._over

    def after_step(self, clock: object) -> None:
        """Count a step of the first *clock*, and begin or end the recording at the steps that the command names."""
        if self._over:
            return
        if self._clock is None or self._clock() is None:
            self._clock = weakref.ref(clock)
        if self._clock() is not clock:
            return
        self._steps_done += 1
        if self._interface is not None:
            self._next_step(self._interface)
        elif self._steps_done == self.command.skip_steps:
            self.begin()

    def begin(self) -> None:
        """Start recording."""
        config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
        PROCESS.configure(str(self.command.directory), None)
        interface = ProfInterface(
            activities=supported_activities(),
            record_shapes=True,
            profile_memory=True,
            with_stack=False,
            with_flops=False,
            with_modules=False,
            experimental_config=config,
            custom_trace_id_callback=None,
            schedule=dict,
        )
        try:
            interface.init_trace()
            interface.warmup_trace()
            interface.start_trace()
        except DrynpuError as error:
            self._over = True
            print_error(f"drynpu run --profile: {error}")
            return
        self._interface = interface
        self._open_step()

    def at_exit(self) -> None:
        """End a recording that still runs, or print why there is none."""
        if self._over:
            return
        if self._interface is None:
            if multiprocessing.parent_process() is not None:
                return  # a data loader's worker: the process that started it prints the message
            if not self._steps_done and _LAUNCHER in sys.modules:
                return  # a launcher: the processes that it started print the message
            print_warning(
                f"drynpu run --profile recorded nothing: {self._steps_done} optimizer steps were made in this process, "
                f"and {self.command.skip_steps} are skipped. Give --profile-steps SKIP:COUNT with a smaller SKIP, or "
                "--profile-steps all for a script that does not train."
            )
            return
        self._end(self._interface)

    def _next_step(self, interface: ProfInterface) -> None:
        self._step.close()
        if self._steps_done == self.command.skip_steps + (self.command.record_steps or 0):
            self._end(interface)
            return
        interface.step_trace()
        self._open_step()

    def _end(self, interface: ProfInterface) -> None:
        self._over = True
        self._step.close()
        try:
            interface.stop_trace()
            # A launcher, or a script that only imports the framework.
            if not interface.operators or self._only_started_others(interface.prof_path):
                interface.discard_trace()
                return
            interface.finalize_trace()
            interface.analyse()
        except (DrynpuError, OSError) as error:
            print_error(f"drynpu run --profile: {error}")

    def _open_step(self) -> None:
        if self.command.record_steps is not None:
            self._step.enter_context(torch.autograd.profiler.record_function(f"ProfilerStep#{self._steps_done}"))

    def _only_started_others(self, path: str) -> bool:
        """Return whether no tensor was on the device, and a process that began later has a recording."""
        profiles = (Path(path), *self.command.directory.glob("*_ascend_pt"))
        first, *began = (stamp for each in profiles if len(stamp := each.name.split("_")[-3]) == 17 and stamp.isdigit())
        counts = (memory_stats(device).get("allocation.all.allocated", 1) for device in range(state().device_count))
        return max(began, default="") > first and not any(counts)


def after_every_step(callback: Callable[[torch.optim.Optimizer], None]) -> None:
    """
    Call *callback* after every ``step`` of every optimizer.

    PyTorch's own hooks run inside the range ``Optimizer.step#...`` of the trace, which a step boundary would cut.
    """
    original = torch.optim.Optimizer.profile_hook_step

    def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        inner = original(function)

        @functools.wraps(inner)
        def step(self: torch.optim.Optimizer, *args: object, **kwargs: object) -> Any:
            result = inner(self, *args, **kwargs)
            callback(self)
            return result

        return step

    torch.optim.Optimizer.profile_hook_step = staticmethod(profile_hook_step)  # type: ignore[assignment]
