"""``torch_npu.profiler.schedule``: a callable from step to action."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from datetime import datetime

from drynpu.options import Schedule
from drynpu.options.experimental_config import STEP_MESSAGE, normalise_schedule
from drynpu_torch.profiler._messages import print_warning, show
from drynpu_torch.profiler._values import FACADE_ACTIONS, ProfilerAction

_LOOK_AHEAD = 10_000
"""Steps for which a schedule that is a function is tried before training begins."""


def _error_suffix(code: str, reason: str) -> str:
    """Return the suffix of the vendor's raised errors (torch_npu_profiler.md 1.3)."""
    if os.environ.get("TORCH_NPU_COMPACT_ERROR_OUTPUT") == "1":
        return ""
    moment = datetime.now().strftime("%Y-%m-%d-%H:%M:%S")
    rank = os.environ.get("RANK", "-1")
    return f"\n[ERROR] {moment} (PID:{os.getpid()}, Device:0, RankID:{rank}) {code} PROF {reason}"


class schedule:  # noqa: N801 - the vendor's name
    """
    Cycles of waiting, warming up and recording.

    Parameters as in torch_npu: note the order, ``wait, active, warmup, repeat, skip_first,
    skip_first_wait``. Bad values are reported and replaced (torch_npu_profiler.md 1.4).
    """

    _neutral: Schedule | None

    def __init__(
        self,
        wait: int,
        active: int,
        warmup: int = 0,
        repeat: int = 0,
        skip_first: int = 0,
        skip_first_wait: int = 0,
    ) -> None:
        values, notices = normalise_schedule(wait, active, warmup, repeat, skip_first, skip_first_wait)
        show(notices)
        self.wait = values.wait
        self.active = values.active
        self.warmup = values.warmup
        self.repeat = values.repeat
        self.skip_first = values.skip_first
        self.skip_first_wait = values.skip_first_wait

    def __setattr__(self, name: str, value: int) -> None:
        object.__setattr__(self, name, value)
        object.__setattr__(self, "_neutral", None)

    def neutral(self) -> Schedule:
        """Return the schedule in the neutral model; later changes of the attributes count."""
        known = self._neutral
        if known is None:
            known = Schedule(**self.describe())
            object.__setattr__(self, "_neutral", known)
        return known

    def describe(self) -> dict[str, int]:
        """Return the six numbers as profiler_info.json shows them."""
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __call__(self, step: int) -> ProfilerAction:
        """
        Return the action of *step*, counted from 0.

        Raises
        ------
        ValueError
            For a negative step.
        """
        if step < 0:
            raise ValueError(STEP_MESSAGE + _error_suffix("ERR04003", "invalid value"))
        return FACADE_ACTIONS[self.neutral().action(step)]


def warn_never_records(chosen: Callable[[int], ProfilerAction]) -> None:
    """Warn before training if a schedule that is a function records none of its first steps."""
    saves = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
    try:
        if any(chosen(step) in saves for step in range(_LOOK_AHEAD)):
            return
    except Exception:  # noqa: BLE001 - user code: it will raise again in the training loop
        return
    warnings.warn(
        f"the schedule records none of the first {_LOOK_AHEAD} steps: no profile will be written", stacklevel=4
    )


def warn_nothing_recorded(chosen: Callable[[int], ProfilerAction], step: int) -> None:
    """Warn after a training that ended at *step*, before its schedule recorded anything."""
    if not isinstance(chosen, schedule):
        return
    first = chosen.neutral().first_recorded_step
    if step < first:
        print_warning(
            f"Nothing was recorded: the schedule records from step {first} on (counted from 0), but step() was "
            f"called only {step} times. Reduce skip_first, wait or warmup, or train longer."
        )
