"""Single files at a place of the user's choice: the trace, and stacks for flame graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from drynpu.analysis import stack_times
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import GROUPS
from drynpu.products._product import NO_TASKS
from drynpu.products.torch._export import trace_blocks
from drynpu.tables import Profile
from drynpu.writers.files import make_directory, new_file
from drynpu.writers.trace_json import SPACED, write_trace


def export_trace(profile: Profile, path: Path, groups: Sequence[RecordGroup] = GROUPS) -> bool:
    """
    Write trace_view.json as *path*, packed if that ends in ``.gz``; return whether there was anything to write.

    A device recorded with ``Level_none`` has no such export (torch_npu_profiler.md 3.6). Raises `OutputError`.
    """
    if _without_tasks(profile):
        return False
    make_directory(path.parent)
    return write_trace(path, trace_blocks(profile, groups), SPACED)


def export_stacks(profile: Profile, path: Path, metric: str) -> bool:
    """
    Write one line per operator: frames, outermost first, and its own whole microseconds (torch_npu_profiler.md 4.14).

    Same stacks are not added up; the tools that read the format do that. No file is written for ``Level_none``.

    Parameters
    ----------
    metric:
        ``self_cpu_time_total`` or ``self_npu_time_total``.

    Raises
    ------
    OutputError
        If the file cannot be written.
    """
    if _without_tasks(profile):
        return False
    rows = stack_times(profile, metric)
    lines = rows.select(pl.concat_str("stack", pl.lit(" "), pl.col("duration_us").cast(pl.Int64).cast(pl.String)))
    make_directory(path.parent)
    with new_file(path) as stream:
        stream.write("\n".join(lines.to_series().to_list()).encode())
    return True


def _without_tasks(profile: Profile) -> bool:
    return profile.with_toolkit and profile.level == NO_TASKS
