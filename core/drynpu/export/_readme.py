"""README.txt beside the toolkit's result files (cann_msprof.md 2.3)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["readme_text"]

_TIMELINES = {
    "msprof": "All layers on one time axis: host calls, device tasks, communication, memory, overlap analysis.",
}
_SUMMARIES = {
    "api_statistic": "Time spent in the calls of the CANN interfaces, by level and name.",
    "npu_mem": "Memory of the process and of the device, sampled.",
    "npu_module_mem": "Memory reserved by each component of the device software, sampled.",
    "op_statistic": "Number and time of kernels by operator type and core type.",
    "op_summary": "One row per kernel and collective: task, time, shapes, counters.",
    "task_time": "One row per device task with start and end.",
}
_NO_DESCRIPTION = "Here is no description about this file: {name}, please check in 'Profiling Instructions'!"


def readme_text(stems: Iterable[str]) -> str:
    """Return the text that describes the files of the given stems (``op_summary``, ``msprof``, ...)."""
    names = sorted(set(stems))
    timelines = [(name, "json", _TIMELINES[name]) for name in names if name in _TIMELINES]
    summaries = [
        (name, "csv", _SUMMARIES.get(name, _NO_DESCRIPTION.format(name=name)))
        for name in names
        if name not in _TIMELINES
    ]
    return "\n".join([*_block("Timeline", timelines), "", *_block("Summary", summaries)]) + "\n"


def _block(title: str, entries: list[tuple[str, str, str]]) -> list[str]:
    lines = [f"{number}.{name}.{suffix}:{text}" for number, (name, suffix, text) in enumerate(entries, start=1)]
    return [f"{title} file description:", *lines]
