"""What a run says at its end: where the step time went, and what was written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from drynpu._errors import DrynpuError
from drynpu._say import say, say_once
from drynpu.analysis import summarise
from drynpu.options import Settings
from drynpu.products import is_forked, load_profile
from drynpu.recorder import WorldCommand
from drynpu.views._summary import print_summary

_LOOKED_INTO = 5
"""Earlier recordings of a process of which the summary says what ran; reading more would hold its end up."""


def say_notes(notes: Iterable[str]) -> None:
    """Print what was requested and is not written, each line once in a process; nothing with ``DRYNPU_QUIET``."""
    if not Settings.from_environ(os.environ).quiet:
        for note in notes:
            say_once(note)


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
            others = list(finished[:-1])
            remarks = {path: summarise(load_profile(path)).in_short for path in others[-_LOOKED_INTO:]}
            print_summary(load_profile(finished[-1]), others=others, remarks=remarks)
    except (DrynpuError, OSError) as error:
        report(f"no summary: {error}")
