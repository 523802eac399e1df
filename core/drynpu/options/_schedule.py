"""Which training steps are recorded."""

from __future__ import annotations

import enum

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._table import check_ranges


class Action(enum.Enum):
    """What the profiler does during one step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

    @property
    def records(self) -> bool:
        """Whether data of this step is kept."""
        return self in (Action.RECORD, Action.RECORD_AND_SAVE)


@frozen(kw_only=True)
class Schedule:
    """
    Cycles of waiting, warming up and recording, counted in steps (torch_npu_profiler.md 1.4).

    ``repeat=0`` means cycles without end. ``skip_first_wait`` other than 0 leaves out the waiting of the first
    cycle only. Raises `OptionError` naming every field that is out of range.
    """

    wait: int = 0
    active: int = 1
    warmup: int = 0
    repeat: int = 0
    skip_first: int = 0
    skip_first_wait: int = 0

    def __attrs_post_init__(self) -> None:
        check_ranges(self, "schedule")

    @property
    def cycle_length(self) -> int:
        """Steps of one full cycle."""
        return self.wait + self.warmup + self.active

    @property
    def first_recorded_step(self) -> int:
        """The first step, counted from 0, of which data is kept."""
        return self.skip_first + (0 if self.skip_first_wait else self.wait) + self.warmup

    def action(self, step: int) -> Action:
        """
        Return what happens during *step*, counted from 0.

        The rules come from torch_npu_profiler.md 1.4. Raises `OptionError` for a negative step.
        """
        if step < 0:
            raise OptionError([f"step: {step} is below 0; steps are counted from 0."])
        if step < self.skip_first:
            return Action.NONE
        step -= self.skip_first
        if self.skip_first_wait:
            step += self.wait
        if self.repeat and step >= self.repeat * self.cycle_length:
            return Action.NONE
        position = step % self.cycle_length
        if position < self.wait:
            return Action.NONE
        if position < self.wait + self.warmup:
            return Action.WARMUP
        return Action.RECORD_AND_SAVE if position == self.cycle_length - 1 else Action.RECORD

    def idle_until(self, step: int) -> int | None:
        """
        Return the first step from *step* on during which something happens, ``None`` if nothing ever does again.

        A surface that waits can count steps up to it without asking :meth:`action` each time.
        """
        first = self.skip_first + (0 if self.skip_first_wait else self.wait)
        if step <= first:
            return first
        if self.action(step) is not Action.NONE:
            return step
        position = step - self.skip_first + (self.wait if self.skip_first_wait else 0)
        cycle = position // self.cycle_length
        if self.repeat and cycle >= self.repeat:
            return None
        return step + self.wait - position % self.cycle_length

    def never_records(self, total_steps: int | None = None) -> bool:
        """
        Whether no step of a run of *total_steps* steps is recorded.

        Without a number the question is whether the schedule ever records; as ``active`` is at least 1 it always
        does, however late.
        """
        return total_steps is not None and total_steps <= self.first_recorded_step

    def complete_cycles(self, total_steps: int) -> int:
        """Number of cycles whose last recorded step lies within a run of *total_steps* steps."""
        beyond = total_steps - 1 - (self.first_recorded_step + self.active - 1)
        if beyond < 0:
            return 0
        cycles = beyond // self.cycle_length + 1
        return min(cycles, self.repeat) if self.repeat else cycles
