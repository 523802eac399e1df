"""What a run says at its end: where the step time went, and what was written."""

from __future__ import annotations

import atexit
import functools
from pathlib import Path

from drynpu_torch.profiler._messages import print_error

_FINISHED: list[Path] = []
"""Result directories of this process in order; shown once, when it ends."""


def announce(path: Path) -> None:
    """Remember a result directory for the summary at the end of the process."""
    _FINISHED.append(path)


@functools.cache
def summarise_at_exit() -> None:
    """Have the summary shown when the process ends; later calls change nothing."""
    atexit.register(_show)


def _show() -> None:
    if _FINISHED:
        from drynpu.views import show_finished

        show_finished(_FINISHED, print_error, rank_variable="RANK")
