"""What a run says at its end: where the step time went, and what was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from drynpu._errors import DrynpuError
from drynpu._say import say
from drynpu.options import Settings
from drynpu.products import is_forked, load_profile
from drynpu.recorder import WorldCommand
from drynpu.views._summary import print_summary


def show_finished(finished: Sequence[Path], report: Callable[[str], object], *, rank_variable: str = "RANK_ID") -> None:
    """
    Print the summary of the last of *finished*, the result directories of this process, and name the others.

    Nothing is printed on other ranks than 0 (of ranks that run without the others: than the first of these) or where
    ``DRYNPU_QUIET`` is set. What cannot be read is reported in one line, since the run itself has succeeded.
    """
    if not finished:
        return
    try:
        lone = WorldCommand.from_environ(os.environ)
        if os.environ.get(rank_variable, "0") != ("0" if lone is None else str(lone.ranks[0])):
            return
        if Settings.from_environ(os.environ).quiet:
            return
        if is_forked():
            say(f"no summary in a forked process; drynpu analyze {finished[-1]} shows it")
        else:
            print_summary(load_profile(finished[-1]), others=list(finished[:-1]))
    except (DrynpuError, OSError) as error:
        report(f"no summary: {error}")
