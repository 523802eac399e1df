"""Profiling of this process: made at the first ``import acl``, ended with the process."""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.recorder import at_process_end
from drynpu_acl.prof._profiling import Profiling
from drynpu_acl.prof._settings import AclSettings


def open_profiling(environ: Mapping[str, str]) -> Profiling:
    """
    Return the profiling of a process, which ends whatever still runs when the process does.

    Raises
    ------
    OptionError, ChipError
        For settings that cannot be.
    """
    profiling = Profiling(settings=AclSettings.from_environ(environ))

    def end() -> None:
        profiling.shut_down()
        profiling.sessions.show()

    at_process_end(end)  # what a parent process records is the parent's
    return profiling
