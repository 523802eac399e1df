"""The end of a process."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable


def at_process_end(work: Callable[[], object]) -> None:
    """Have *work* done when this process ends; processes that are forked off leave it to this one."""
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:
            work()

    atexit.register(end)
