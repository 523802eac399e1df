"""Profiling of this process: made at the first ``import acl``, ended with the process."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping

from drynpu_acl.prof._profiling import Profiling
from drynpu_acl.prof._settings import AclSettings

__all__ = ["open_profiling"]


def open_profiling(environ: Mapping[str, str]) -> Profiling:
    """
    Return the profiling of a process, which ends whatever still runs when the process does.

    Raises
    ------
    OptionError, ChipError
        For settings that cannot be.
    """
    profiling = Profiling(settings=AclSettings.from_environ(environ))
    owner = os.getpid()

    def end() -> None:
        # What a parent process records is the parent's.
        if os.getpid() == owner:
            profiling.shut_down()
            profiling.sessions.show()

    atexit.register(end)
    return profiling
