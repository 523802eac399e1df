"""
Where a benchmark puts its ratios besides printing them, so that ``make bench`` can keep all of them in one file.

A script calls :func:`record_ratio` next to the line that it prints. Nothing happens unless ``DRYNPU_BENCH_RATIOS``
names a file: then each call appends one JSON document on a line of its own.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

FILE_VARIABLE = "DRYNPU_BENCH_RATIOS"


def record_ratio(name: str, ratios: float | Sequence[float]) -> None:
    """
    Append a ratio to the file of this run.

    Parameters
    ----------
    name:
        What was divided by what, unique in the script: ``"MLP: step recording / plain"``.
    ratios:
        One ratio for each round, or a single one. The file gets their median, least and greatest.
    """
    path = os.environ.get(FILE_VARIABLE)
    if not path:
        return
    rounds = [ratios] if isinstance(ratios, float | int) else list(ratios)
    entry = {
        "script": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "name": name,
        "median": statistics.median(rounds),
        "least": min(rounds),
        "greatest": max(rounds),
        "rounds": len(rounds),
    }
    with Path(path).open("a", encoding="utf-8") as stream:
        print(json.dumps(entry), file=stream)
