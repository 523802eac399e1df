"""What a run says at its end: where the step time went, and what was written."""

from __future__ import annotations

import atexit
import functools
import os
from pathlib import Path

from drynpu import DrynpuError
from drynpu.options import Settings
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
    if not _FINISHED or os.environ.get("RANK", "0") != "0":
        return
    try:
        if Settings.from_environ(os.environ).quiet:
            return
        from drynpu.products import load_profile
        from drynpu.views import print_summary

        print_summary(load_profile(_FINISHED[-1]), others=_FINISHED[:-1])
    except (DrynpuError, OSError) as error:  # the run itself has succeeded
        print_error(f"no summary: {error}")
