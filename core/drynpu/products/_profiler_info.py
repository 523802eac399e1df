"""``profiler_info*.json`` of a result directory: where it is, and the rank in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drynpu.layouts.result_files import PROFILER_INFO_PATTERN, profiler_info_file


def info_file(path: Path) -> Path:
    """Return the profiler_info*.json of a result directory, whether it is there or not."""
    named = sorted(path.glob(PROFILER_INFO_PATTERN))
    return named[0] if named else path / profiler_info_file(None)


def read_rank(info: Mapping[str, object], known: int) -> int:
    """Return the rank in profiler_info.json, where MindSpore writes it as text; *known* where there is none."""
    mindspore = info.get("ms_profiler_info")
    rank = mindspore.get("rank_id") if isinstance(mindspore, Mapping) else info.get("rank_id")
    if isinstance(rank, str) and rank.isdecimal():
        return int(rank)
    return rank if isinstance(rank, int) else known
