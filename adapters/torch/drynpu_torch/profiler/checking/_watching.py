"""The script's own profilers: how they are set up, what is called, where results would go."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from attrs import define, field

from drynpu import modules_with
from drynpu.checks import ObservedMessage, ObservedOutput, ObservedProfiler, Place
from drynpu.options import Notice, to_mapping
from drynpu.recorder import TransitionStep, transition
from drynpu_torch.profiler import _exports, _messages
from drynpu_torch.profiler._actions import ProfActionController
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._process import ProcessState
from drynpu_torch.profiler._profile import profile
from drynpu_torch.profiler._schedule import schedule as schedule_class
from drynpu_torch.profiler._values import NEUTRAL_ACTIONS, ProfilerAction
from drynpu_torch.profiler.checking._places import PLACES

_EXPORTS = ("export_chrome_trace", "export_stacks", "export_memory_timeline")
_PACKAGE = "drynpu_torch.profiler."
_TENSORBOARD = "tensorboard_trace_handler"


@define
class _Watched:
    """One profiler: what it was made with, and what was called."""

    place: Place | None
    profiler: profile
    started: bool = False
    steps: int = 0
    optimizer_steps: int = 0

    def observed(self) -> ObservedProfiler:
        chosen = self.profiler._given_schedule
        handler = self.profiler.on_trace_ready
        name = getattr(handler, "__qualname__", "")
        return ObservedProfiler(
            place=self.place,
            request=dict(to_mapping(self.profiler.prof_if._request())),
            schedule=chosen.describe() if isinstance(chosen, schedule_class) else None,
            has_schedule=self.profiler.record_steps,
            handler="" if handler is None else "tensorboard" if _TENSORBOARD in name else "function",
            started=self.started,
            steps=self.steps,
            optimizer_steps=self.optimizer_steps,
        )


@define
class Watch:
    """
    What the script's profilers do in this process. They record nothing, and their handlers are called in time.

    *on_step* is called with the profiler after each of its steps. What goes to *folder* is the check's own.
    """

    on_step: Callable[[object], None]
    folder: Path
    outputs: list[ObservedOutput] = field(factory=list)
    messages: list[ObservedMessage] = field(factory=list)
    _watched: list[_Watched] = field(factory=list)
    _metrics_given: bool = False

    def install(self) -> None:
        """Watch every profiler that is made from now on."""
        self._note_metrics()
        self._after(profile, "__init__", self._add)
        self._after(profile, "start", self._started)
        self._after(profile, "step", self._stepped)
        self._after(ProcessState, "configure", self._configured)
        self._after(_messages, "_print", self._said)
        self._note_notices()
        for name in _EXPORTS:
            setattr(_exports, name, self._exported)
        setattr(ProfActionController, "transit_action", _call_handler)  # noqa: B010 - a method is assigned

    def after_optimizer_step(self) -> None:
        """Count a step of the training for the profilers that are started."""
        for watched in self._watched:
            if watched.started and not watched.profiler.stopped:
                watched.optimizer_steps += 1

    def profilers(self) -> tuple[ObservedProfiler, ...]:
        """Return the profilers in the order in which they were made."""
        return tuple(watched.observed() for watched in self._watched)

    def _after(self, owner: object, name: str, note: Callable[..., None]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def watched(*args: object, **kwargs: object) -> Any:
            try:
                return original(*args, **kwargs)
            finally:
                note(*args, **kwargs)

        setattr(owner, name, watched)

    def _find(self, profiler: profile) -> _Watched | None:
        return next((watched for watched in self._watched if watched.profiler is profiler), None)

    def _add(self, profiler: profile, **_: object) -> None:
        if hasattr(profiler, "prof_if"):
            self._watched.append(_Watched(PLACES.find(), profiler))

    def _started(self, profiler: profile) -> None:
        watched = self._find(profiler)
        if watched is not None:
            watched.started = True

    def _stepped(self, profiler: profile) -> None:
        watched = self._find(profiler)
        if watched is not None:
            watched.steps += 1
        self.on_step(profiler)

    def _configured(self, _: ProcessState, directory: str | None, worker_name: str | None) -> None:
        place = PLACES.find()
        if place is not None and not Path(directory or "").is_relative_to(self.folder):
            self.outputs.append(
                ObservedOutput(kind="directory", path=directory or "", place=place, worker=worker_name or "")
            )

    def _exported(self, _: object, output_path: str, *__: object) -> None:
        self.outputs.append(ObservedOutput(kind="file", path=str(output_path), place=PLACES.find()))

    def _note_metrics(self) -> None:
        """Remember whether the configuration that is being made was given metrics."""
        original = _ExperimentalConfig.__init__

        @functools.wraps(original)
        def init(config: _ExperimentalConfig, *args: object, **kwargs: object) -> None:
            self._metrics_given = len(args) > 1 or "aic_metrics" in kwargs
            original(config, *args, **kwargs)
            self._metrics_given = False

        setattr(_ExperimentalConfig, "__init__", init)  # noqa: B010 - a method is assigned

    def _note_notices(self) -> None:
        """Note each notice with its option, and leave out that it is printed."""
        original = _messages.show

        def show(notices: Iterable[Notice]) -> None:
            for notice in notices:
                # A configuration of default values is not what the script asks for; the vendor warns of it too.
                if notice.path == "aic_metrics" and not self._metrics_given:
                    continue
                self._note(notice.severity.name, notice.message, notice.path)

        for module in modules_with("show", original, _PACKAGE):
            module.show = show

    def _said(self, severity: str, message: str) -> None:
        self._note(severity, message)

    def _note(self, severity: str, text: str, option: str = "") -> None:
        noted = ObservedMessage(severity=severity, text=text, option=option, place=PLACES.find())
        if noted not in self.messages:  # the vendor builds its interface twice
            self.messages.append(noted)


def _call_handler(
    controller: ProfActionController, prev_action: ProfilerAction, current_action: ProfilerAction | None
) -> None:
    """Call the handler where a recording would be ready, and do nothing else of the action table."""
    following = None if current_action is None else NEUTRAL_ACTIONS[current_action]
    if TransitionStep.READY in transition(NEUTRAL_ACTIONS[prev_action], following).steps:
        controller.prof._recorded = True
        if controller.on_trace_ready is not None:
            controller.on_trace_ready(controller.prof)
