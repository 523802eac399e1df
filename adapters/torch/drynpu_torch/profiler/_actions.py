"""``prof.action_controller``: what a profiler does between the actions of two steps (torch_npu_profiler.md 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from drynpu.recorder import Duty, Irregularity, transition
from drynpu_torch.profiler._messages import print_warning
from drynpu_torch.profiler._values import NEUTRAL_ACTIONS, ProfilerAction

if TYPE_CHECKING:
    from drynpu_torch.profiler._interface import ProfInterface
    from drynpu_torch.profiler._profile import profile

__all__ = ["ProfActionController"]

_MESSAGES = {
    Irregularity.WARMUP_THEN_NONE: "Incorrect schedule: WARMUP followed by NONE",
    Irregularity.RECORD_THEN_NONE: "Incorrect schedule: RECORD followed by NONE",
    Irregularity.RECORD_THEN_WARMUP: "Incorrect schedule: RECORD followed by WARMUP",
    Irregularity.STOPPED_IN_WARMUP: "Incorrect schedule: Stop profiler while current state is WARMUP which will "
    "result in empty parsed data.",
    Irregularity.STOPPED_IN_RECORD: "Incorrect schedule: Stop profiler while current state is RECORD which may "
    "result in incomplete parsed data.",
    Irregularity.STOPPED_IN_SAVE: "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling "
    "cycle has not yet completed.",
}


@frozen
class ProfActionController:
    """Carries out the action table for ``prof``, on its interface and with its handler as they are at the time."""

    prof: profile

    @property
    def prof_inst(self) -> ProfInterface:
        """What the duties are carried out on."""
        return self.prof.prof_if

    @property
    def on_trace_ready(self) -> Callable[[profile], Any] | None:
        """The handler of the profiler."""
        handler: Callable[[profile], Any] | None = self.prof.on_trace_ready
        return handler

    def transit_action(self, prev_action: ProfilerAction, current_action: ProfilerAction | None) -> None:
        """Do what lies between two actions; ``None`` stands for the end of the profiler."""
        interface = self.prof_inst
        if not interface.enabled:
            return
        plan = transition(
            NEUTRAL_ACTIONS[prev_action], None if current_action is None else NEUTRAL_ACTIONS[current_action]
        )
        if plan.irregularity is not None:
            print_warning(_MESSAGES[plan.irregularity])
        if not plan.duties and interface.recording:
            interface.step_trace()
        for duty in plan.duties:
            self._carry_out(duty, interface)

    def _carry_out(self, duty: Duty, interface: ProfInterface) -> None:
        if duty is Duty.READY:
            self.prof._recorded = True
            if self.on_trace_ready is not None:
                self.on_trace_ready(self.prof)
            return
        observer = self.prof.execution_trace_observer
        if duty is Duty.STOP and observer is not None:
            observer.stop()
        {
            Duty.INIT: interface.init_trace,
            Duty.WARMUP: interface.warmup_trace,
            Duty.START: interface.start_trace,
            Duty.STOP: interface.stop_trace,
            Duty.FINALIZE: interface.finalize_trace,
            Duty.DELETE: interface.delete_trace,
        }[duty]()
        # Inside of the recording, so that one that cannot begin leaves the observer alone.
        if duty is Duty.START and observer is not None:
            observer.start()
