"""Results of other tools and generations, which are no profile: a sentence that says whose they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

_DEPTH = ("*", "*/*", "*/*/*")
_SHOWN = 3


@frozen
class _Kind:
    """What files are, by patterns of their names, and the way from them to a profile."""

    files: tuple[str, ...]
    sentence: str


_KINDS: Mapping[str, _Kind] = {
    "cluster": _Kind(
        (
            "cluster_step_trace_time.csv",
            "cluster_communication*.json",
            "cluster_analysis.db",
            "communication_group.json",
        ),
        "results of an analysis of a cluster; open the directories of its ranks, all at once with 'drynpu cluster'",
    ),
    "msprof op": _Kind(
        ("OpBasicInfo*.csv", "PipeUtilization*.csv", "ArithmeticUtilization*.csv", "visualize_data.bin"),
        "results of 'msprof op' for one operator, which MindStudio Insight opens",
    ),
    "MindSpore 1": _Kind(
        (
            "aicore_intermediate_*",
            "step_trace_raw_*",
            "minddata_pipeline_raw_*",
            "framework_raw_*",
            "op_compute_time_*",
        ),
        "results of the profiler of MindSpore 1 and early 2, which MindInsight opens; "
        "the PROF_* directory that the same run left is a profile",
    ),
}


def other_results(path: Path) -> str:
    """Return a sentence with a space behind it about files of another tool at *path*, ``""`` where there are none."""
    if not path.is_dir():
        return ""
    for kind in _KINDS.values():
        matches = (file.name for depth in _DEPTH for file in path.glob(depth) if any(map(file.match, kind.files)))
        names = sorted(set(matches))
        if names:
            listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            return f"It holds {kind.sentence} ({listed}). "
    return ""
