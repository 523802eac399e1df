"""README.txt beside the toolkit's result files (cann_msprof.md 2.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

README = {
    "msprof.json": "All layers on one time axis: host calls, device tasks, communication, memory, overlap analysis.",
    "api_statistic.csv": "Time spent in the calls of the CANN interfaces, by level and name.",
    "op_statistic.csv": "Number and time of kernels by operator type and core type.",
    "op_summary.csv": "One row per kernel and collective: task, time, shapes, counters.",
    "task_time.csv": "One row per device task with start and end.",
}
"""Lines about the files that are of no record group."""
_NO_DESCRIPTION = "Here is no description about this file: {name}, please check in 'Profiling Instructions'!"


def readme_text(names: Iterable[str], lines: Mapping[str, str]) -> str:
    """
    Return the text that describes files by their names without time stamp (``op_summary.csv``, ``msprof.json``).

    *lines* describes files by those names. A name without a suffix is a timeline if one of that name is known, else a
    table.
    """
    files = {name if "." in name else f"{name}.{'json' if f'{name}.json' in lines else 'csv'}" for name in names}
    blocks: dict[str, list[tuple[str, str, str]]] = {"json": [], "csv": []}
    for stem, suffix in sorted((file.rsplit(".", 1)[0], file.rsplit(".", 1)[1]) for file in files):
        # A table may be JSON, too.
        kind = "csv" if f"{stem}.csv" in lines and f"{stem}.json" not in lines else suffix
        blocks[kind].append((stem, suffix, lines.get(f"{stem}.{kind}", _NO_DESCRIPTION.format(name=stem))))
    return "\n".join([*_block("Timeline", blocks["json"]), "", *_block("Summary", blocks["csv"])]) + "\n"


def _block(title: str, entries: list[tuple[str, str, str]]) -> list[str]:
    lines = [f"{number}.{name}.{suffix}:{text}" for number, (name, suffix, text) in enumerate(entries, start=1)]
    return [f"{title} file description:", *lines]
