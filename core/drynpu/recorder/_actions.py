"""
What a profiling session does between two steps.

The table is that of torch_npu_profiler.md 2 (MindSpore's profiler has the same one): for every pair of the
previous and the next action the duties in order, and the irregularity that a facade may want to warn about.
"""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu.options import Action

__all__ = ["Duty", "Irregularity", "Transition", "transition"]


class Duty(enum.Enum):
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


class Irregularity(enum.Enum):
    """A transition that a well-formed schedule does not make."""

    WARMUP_THEN_NONE = "warmup_then_none"
    RECORD_THEN_NONE = "record_then_none"
    RECORD_THEN_WARMUP = "record_then_warmup"
    STOPPED_IN_WARMUP = "stopped_in_warmup"
    STOPPED_IN_RECORD = "stopped_in_record"
    STOPPED_IN_SAVE = "stopped_in_save"


@frozen
class Transition:
    """Duties in order, and what is irregular about getting here (None if nothing)."""

    duties: tuple[Duty, ...] = ()
    irregularity: Irregularity | None = None


_END = (Duty.STOP, Duty.FINALIZE)
_SAVE = (Duty.STOP, Duty.FINALIZE, Duty.READY)
_BEGIN = (Duty.INIT, Duty.START)
_ARM = (Duty.INIT, Duty.WARMUP)

_TABLE: dict[tuple[Action, Action | None], Transition] = {
    (Action.NONE, Action.WARMUP): Transition(_ARM),
    (Action.NONE, Action.RECORD): Transition(_BEGIN),
    (Action.NONE, Action.RECORD_AND_SAVE): Transition(_BEGIN),
    (Action.WARMUP, Action.NONE): Transition((Duty.START, *_END), Irregularity.WARMUP_THEN_NONE),
    (Action.WARMUP, Action.RECORD): Transition((Duty.START,)),
    (Action.WARMUP, Action.RECORD_AND_SAVE): Transition((Duty.START,)),
    (Action.RECORD, Action.NONE): Transition(_END, Irregularity.RECORD_THEN_NONE),
    (Action.RECORD, Action.WARMUP): Transition(_END, Irregularity.RECORD_THEN_WARMUP),
    (Action.RECORD_AND_SAVE, Action.NONE): Transition(_SAVE),
    (Action.RECORD_AND_SAVE, Action.WARMUP): Transition((*_SAVE, *_ARM)),
    (Action.RECORD_AND_SAVE, Action.RECORD): Transition((*_SAVE, *_BEGIN)),
    (Action.RECORD_AND_SAVE, Action.RECORD_AND_SAVE): Transition((*_SAVE, *_BEGIN)),
    (Action.WARMUP, None): Transition((Duty.FINALIZE, Duty.DELETE), Irregularity.STOPPED_IN_WARMUP),
    (Action.RECORD, None): Transition(_SAVE, Irregularity.STOPPED_IN_RECORD),
    (Action.RECORD_AND_SAVE, None): Transition(_SAVE, Irregularity.STOPPED_IN_SAVE),
}


def transition(previous: Action, following: Action | None) -> Transition:
    """Return what happens from *previous* to *following*; None means that the session stops."""
    return _TABLE.get((previous, following), Transition())
