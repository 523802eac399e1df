"""``prof.action_controller``: the steps of a profiler between two actions (torch_npu_profiler.md 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from attrs import frozen

from drynpu.recorder import TransitionStep, transition
from drynpu_torch.profiler._interface import ProfInterface
from drynpu_torch.profiler._messages import print_warning
from drynpu_torch.profiler._values import NEUTRAL_ACTIONS, ProfilerAction

_OBSERVER = "the trace of the execution_trace_observer"


class _Profiler(Protocol):
    """The attributes of ``profile`` that the controller needs."""

    prof_if: ProfInterface
    on_trace_ready: Any
    execution_trace_observer: Any
    _recorded: bool


@frozen
class ProfActionController:
    """Carries out the action table for ``prof``, with the interface and the handler that it has at the time."""

    prof: _Profiler

    @property
    def prof_inst(self) -> ProfInterface:
        """The interface of the profiler, under the vendor's name."""
        return self.prof.prof_if

    @property
    def on_trace_ready(self) -> Callable[[Any], Any] | None:
        """The handler of the profiler."""
        handler: Callable[[Any], Any] | None = self.prof.on_trace_ready
        return handler

    def transit_action(self, prev_action: ProfilerAction, current_action: ProfilerAction | None) -> None:
        """Carry out the steps between two actions; ``None`` stands for the end of the profiler."""
        interface = self.prof_inst
        if not interface.enabled:
            return
        plan = transition(
            NEUTRAL_ACTIONS[prev_action], None if current_action is None else NEUTRAL_ACTIONS[current_action]
        )
        if plan.warning is not None:
            print_warning(plan.warning.value)
        if not plan.steps and interface.recording:
            interface.step_trace()
        for step in plan.steps:
            self._carry_out(step, interface)

    def _carry_out(self, step: TransitionStep, interface: ProfInterface) -> None:
        if step is TransitionStep.READY:
            self.prof._recorded = True
            if self.on_trace_ready is not None:
                self.on_trace_ready(self.prof)
            return
        observer = self.prof.execution_trace_observer
        if step is TransitionStep.STOP and observer is not None:
            interface.parts.gather(_OBSERVER, observer.stop, None)
        {
            TransitionStep.INIT: interface.init_trace,
            TransitionStep.WARMUP: interface.warmup_trace,
            TransitionStep.START: interface.start_trace,
            TransitionStep.STOP: interface.stop_trace,
            TransitionStep.FINALIZE: interface.finalize_trace,
            TransitionStep.DELETE: interface.delete_trace,
        }[step]()
        # After the recording has begun: if that fails, the observer does not start.
        if step is TransitionStep.START and observer is not None:
            interface.parts.gather(_OBSERVER, observer.start, None)
