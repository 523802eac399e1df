"""Why rows differ, where ours are kept: each by what a difference says; and the table of a page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from comparison import Result

REASONS: Mapping[str, str] = {
    "context": "the Python path loses the context of kernels on both kinds of core at l0; the native path has it",
    "widths": "Memory and MemoryL0 have other widths and columns in the native path, which ours follow",
    "refused": "the Python path refuses MemoryAccess on this chip",
    "zero": "a refresh of no length is `N/A` to the Python path and 0 to the native one, the writer of this chip",
    "begin": "the native path leaves out a sample of memory at the very begin, where its float falls before it",
    "rates": "the parser divides by times that are 64-bit floats of ns since 1970: samples of ours are near each other",
    "L0C": "the native database has the reads of L0C by the 950's cube cores; ours has 0",
    "processors": "after one look at the host's processors the parser writes a row of zeros; ours has none",
    "speed": "the native path says that it fails where the speed of no network card is known, and writes all the rest",
    "release": "the released torch_npu has Mix Block Num at Level0, and ours follows it; the checkout is older there",
    "copy": "copies that ACL calls inside a model have no model in the native path; ours is the launch's",
}
"""Name of a reason -> what it is."""

_LAYER = r"^msprof\.json: Ascend Hardware X, "
_SIGNS: Sequence[tuple[str, str]] = (
    (rf"^op_summary: Context ID, |{_LAYER}.*Task Type\W+(KERNEL_)?MIX_", "context"),
    (
        r"^op_summary: columns of ours alone: (a\w+_datas|aicore_time)|Invalid metric|MetricSummary|near \"\(\"",
        "refused",
    ),
    (r"^op_summary: (columns of ours alone: )?ai[cv]_(l[0-9]\w*|main_mem|ub)_\w*bw", "widths"),
    (r"\"Iteration Refresh\(us\)\": \"(0|N/A)\"", "zero"),
    (r"^npu_mem: ", "begin"),
    (r"^host_cpu_usage: only theirs|CPU_USAGE run failed|cpu usage original data", "processors"),
    (r"^(hbm|llc_read_write): (Read|Write|Throughput)\(MB/s\), ", "rates"),
    (r"TASK_PMU_INFO: .*'aic_l0c_read_bw'", "L0C"),
    (r"NETWORK_USAGE|network usage|for data process failed|(Timeline|Summary|UnifiedDB) run failed", "speed"),
    (r"^kernel_details\.csv: columns of ours alone: Mix Block Num$", "release"),
    (rf"{_LAYER}.*MEMCPY_ASYNC", "copy"),
)
"""A pattern of what is printed -> the name of its reason."""


def reasons_of(errors: Sequence[str], results: Sequence[Result]) -> tuple[list[str], list[str]]:
    """Return the names of the reasons of all differences, and what has none; *errors* come first."""
    said = [*errors, *(f"{result.file}: {text}" for result in results for text in result.differences)]
    names = [next((name for sign, name in _SIGNS if re.search(sign, text)), "") for text in said]
    return sorted({name for name in names if name}), [text for text, name in zip(said, names, strict=True) if not name]


def page_lines(rows: Sequence[tuple[str, Sequence[str], Sequence[Result]]]) -> list[str]:
    """Return a table with equal and compared rows of each recording, and what is behind the rest."""
    lines = ["| recording | files | equal rows | otherwise |", "| --- | --- | --- | --- |"]
    used: set[str] = set()
    for name, errors, results in rows:
        names, others = reasons_of(errors, results)
        used |= {*names}
        files = {result.file: result.file for result in results if not result.same}
        rest = ", ".join(f"{file} ({equal_rows(results, file)})" for file in files)
        behind = "; ".join(filter(None, (rest, ", ".join(names), f"{len(others)} without a reason" if others else "")))
        total = f"{sum(result.equal for result in results)} of {sum(result.rows for result in results)}"
        lines.append(f"| {name} | {len({result.file for result in results})} | {total} | {behind} |")
    return [*lines, "", *(f"- *{name}*: {REASONS[name]}." for name in sorted(used))]


def equal_rows(results: Sequence[Result], file: str) -> str:
    """Return the equal rows of a file of all ranks, of how many."""
    same = [result for result in results if result.file == file]
    return f"{sum(result.equal for result in same)} of {sum(result.rows for result in same)}"
