"""``mindspore.profiler.schedule``: a callable from step to action (mindspore_profiler.md 4)."""

from __future__ import annotations

from typing import Any, ClassVar

from drynpu.options.experimental_config import STEP_MESSAGE
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._values import ProfilerAction

NO_WARMUP = "Profiler won't be using warmup, this can skew profiler results"
DEFAULT_SCHEDULE_TEXT = "Schedule(wait=0, active=1, warmup=0, repeat=0, skip_first=0)"

# In the order in which they are checked, with the value that replaces a bad one and the least allowed one.
_FIELDS = (("wait", 0, 0), ("warmup", 0, 0), ("active", 1, 1), ("repeat", 0, 0), ("skip_first", 0, 0))


def always_record(step: int) -> ProfilerAction:
    """Return what happens where there is no schedule: every step is recorded, none of them saves."""
    del step
    return ProfilerAction.RECORD


class Schedule:
    """
    Cycles of waiting, warming up and recording, counted in steps from 0.

    Parameters
    ----------
    wait, warmup, active:
        Lengths of the three parts of a cycle in steps.
    repeat:
        Cycles; 0 for cycles without end.
    skip_first:
        Steps before the first cycle.

    Values that are no ``int``, a bool or too small are replaced, which the log says.
    """

    _user_log: ClassVar[UserLog]

    def __init__(self, *, wait: int, active: int, warmup: int = 0, repeat: int = 0, skip_first: int = 0) -> None:
        self.wait = wait
        self.active = active
        self.warmup = warmup
        self.repeat = repeat
        self.skip_first = skip_first
        self._replace_bad_values()

    @classmethod
    def unsaid_default(cls) -> Schedule:
        """Return the default schedule without a word in the log, for releases that had no schedules."""
        schedule = cls.__new__(cls)
        schedule.wait, schedule.active, schedule.warmup, schedule.repeat, schedule.skip_first = 0, 1, 0, 0, 0
        return schedule

    def _replace_bad_values(self) -> None:
        for name, default, least in _FIELDS:
            value: Any = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                type_name = type(value).__name__
                self._user_log.warning(
                    f"Parameter '{name}' should be of type int, but got {type_name}. reset to int {default}."
                )
                setattr(self, name, default)
        if self.warmup == 0:
            self._user_log.warning(NO_WARMUP)

    def __call__(self, step: int) -> ProfilerAction:
        """
        Return what happens during *step*.

        Raises
        ------
        ValueError
            For a negative step.
        """
        if step < 0:
            raise ValueError(STEP_MESSAGE)
        if step < self.skip_first:
            return ProfilerAction.NONE
        length = self.wait + self.warmup + self.active
        cycle, position = divmod(step - self.skip_first, length)
        if self.repeat > 0 and cycle >= self.repeat:
            return ProfilerAction.NONE
        if position < self.wait:
            return ProfilerAction.NONE
        if position < self.wait + self.warmup:
            return ProfilerAction.WARM_UP
        return ProfilerAction.RECORD_AND_SAVE if position == length - 1 else ProfilerAction.RECORD

    def to_dict(self) -> dict[str, int]:
        """Return the five numbers as ``profiler_info`` shows them."""
        return {
            "wait": self.wait,
            "active": self.active,
            "warmup": self.warmup,
            "repeat": self.repeat,
            "skip_first": self.skip_first,
        }

    def __repr__(self) -> str:
        return f"Schedule({', '.join(f'{name}={value}' for name, value in self.to_dict().items())})"
