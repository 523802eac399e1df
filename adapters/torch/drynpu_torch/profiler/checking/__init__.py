"""What ``drynpu check`` notes in a process of the script: its profilers, its lines, a recording of its first steps."""

from __future__ import annotations

from drynpu.recorder import CheckCommand
from drynpu_torch.profiler.checking._steps import CheckedScript


def start_check(text: str) -> None:
    """
    Note what this process does from now on, as *text*, a `CheckCommand`, says.

    Raises
    ------
    OptionError
        The command cannot be read.
    """
    CheckedScript(CheckCommand.from_text(text)).begin()


__all__ = ["start_check"]
