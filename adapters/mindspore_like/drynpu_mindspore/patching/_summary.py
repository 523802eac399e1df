"""What a run says at its end: where the step time went, and what was written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path


def show_summary(finished: Sequence[Path]) -> None:
    """
    Print the summary of the last run directory, on rank 0.

    Raises
    ------
    DrynpuError
        The directory cannot be read.
    """
    if os.environ.get("RANK_ID", "0") != "0":
        return
    from drynpu.products import load_profile
    from drynpu.views import print_summary

    print_summary(load_profile(finished[-1]), others=list(finished[:-1]))
