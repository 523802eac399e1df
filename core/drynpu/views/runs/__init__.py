"""Runs on disk: what one execution left, with the profiles of its ranks."""

from __future__ import annotations

from drynpu.views.runs._find import RankFolder, RunFolder, find_runs
from drynpu.views.runs._rank import Rank, Selection
from drynpu.views.runs._run import Run, View

__all__ = ["Rank", "RankFolder", "Run", "RunFolder", "Selection", "View", "find_runs"]
