"""
What a profiling session does between two steps.

The table comes from torch_npu_profiler.md 2 (MindSpore's profiler has the same one): for every pair of the
previous and the next action the steps in order, and the warning that a facade may want to give.
"""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu.options import Action


class TransitionStep(enum.Enum):
    """One thing to do at a transition."""

    INIT = "init"
    """Create the result directory."""
    WARMUP = "warmup"
    START = "start"
    STOP = "stop"
    FINALIZE = "finalize"
    """Write what describes the recording; it is complete on disk afterwards."""
    READY = "ready"
    """Call the user's handler."""
    DELETE = "delete"
    """Remove a result directory that holds nothing."""


class ScheduleWarning(enum.Enum):
    """A transition that a well-formed schedule does not make: the warning of torch_npu's and MindSpore's profilers."""

    WARMUP_THEN_NONE = "Incorrect schedule: WARMUP followed by NONE"
    RECORD_THEN_NONE = "Incorrect schedule: RECORD followed by NONE"
    RECORD_THEN_WARMUP = "Incorrect schedule: RECORD followed by WARMUP"
    STOPPED_IN_WARMUP = (
        "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
    )
    STOPPED_IN_RECORD = (
        "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
    )
    STOPPED_IN_SAVE = (
        "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
    )


@frozen
class Transition:
    """The steps in order, and what is wrong with getting here (None if nothing)."""

    steps: tuple[TransitionStep, ...] = ()
    warning: ScheduleWarning | None = None


_END = (TransitionStep.STOP, TransitionStep.FINALIZE)
_SAVE = (TransitionStep.STOP, TransitionStep.FINALIZE, TransitionStep.READY)
_BEGIN = (TransitionStep.INIT, TransitionStep.START)
_ARM = (TransitionStep.INIT, TransitionStep.WARMUP)

_TABLE: dict[tuple[Action, Action | None], Transition] = {
    (Action.NONE, Action.WARMUP): Transition(_ARM),
    (Action.NONE, Action.RECORD): Transition(_BEGIN),
    (Action.NONE, Action.RECORD_AND_SAVE): Transition(_BEGIN),
    (Action.WARMUP, Action.NONE): Transition((TransitionStep.START, *_END), ScheduleWarning.WARMUP_THEN_NONE),
    (Action.WARMUP, Action.RECORD): Transition((TransitionStep.START,)),
    (Action.WARMUP, Action.RECORD_AND_SAVE): Transition((TransitionStep.START,)),
    (Action.RECORD, Action.NONE): Transition(_END, ScheduleWarning.RECORD_THEN_NONE),
    (Action.RECORD, Action.WARMUP): Transition(_END, ScheduleWarning.RECORD_THEN_WARMUP),
    (Action.RECORD_AND_SAVE, Action.NONE): Transition(_SAVE),
    (Action.RECORD_AND_SAVE, Action.WARMUP): Transition((*_SAVE, *_ARM)),
    (Action.RECORD_AND_SAVE, Action.RECORD): Transition((*_SAVE, *_BEGIN)),
    (Action.RECORD_AND_SAVE, Action.RECORD_AND_SAVE): Transition((*_SAVE, *_BEGIN)),
    (Action.WARMUP, None): Transition(
        (TransitionStep.FINALIZE, TransitionStep.DELETE), ScheduleWarning.STOPPED_IN_WARMUP
    ),
    (Action.RECORD, None): Transition(_SAVE, ScheduleWarning.STOPPED_IN_RECORD),
    (Action.RECORD_AND_SAVE, None): Transition(_SAVE, ScheduleWarning.STOPPED_IN_SAVE),
}


def transition(previous: Action, following: Action | None) -> Transition:
    """Return what happens from *previous* to *following*; None means that the session stops."""
    return _TABLE.get((previous, following), Transition())
