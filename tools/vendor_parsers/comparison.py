"""
Two exports of the same records, row by row.

The vendor's pure Python path rounds and spells some things otherwise than its native path, which drynpu follows on the
chips that have one (docs/formats/cann_msprof.md, section 7.6). Only these differences are let pass.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from attrs import field, frozen

FILE_NAME = re.compile(r"(.+?)_\d{14}(_slice_\d+)?\.csv")
FILE_ORDER = ("op_summary", "op_statistic", "api_statistic", "task_time", "step_trace", "communication_statistic")
TIMELINES = ("msprof", "step_trace", "msprof_tx")
ROUNDING = Decimal("0.0051")
"""The Python path rounds the time on a core to 0.01 us, and what follows from it."""

FLOAT_US = Decimal("0.51")
"""The native path subtracts times since 1970 as 64-bit floats of us, in steps of a quarter, for the time of waiting."""

OVERFLOW_US = Decimal(2**64) / 1000
"""It subtracts the first reduction of an iteration the wrong way round (summary_step_trace_assembler.cpp)."""

FLOAT_NS, FLOAT_RATE = Decimal("0.26"), Decimal("0.00002")
"""It keeps times of samples as 64-bit floats of ns since 1970, in steps of 256, and computes rates from them."""

UNSORTED = {"api_statistic": ("Level", "API Name"), "op_statistic": ("OP Type", "Core Type")}
"""Files whose rows the two paths order differently, with what names a row."""

PASSED = {
    *((name, "Device_id") for name in ("api_statistic", "fusion_op")),
    *((name, "Timestamp(us)") for name in ("nic", "roce")),
}
"""Cells in which the two paths differ, and times that are not of the run (docs/consumers.md)."""

EMPTY = ("", "N/A", "0.000")
"""Cells without a value: the Python path leaves them out at the end of a row, the native path has a 0 for N/A."""

NATIVE_ARGS = {"size(B)", "bandwidth(GB/s)", "operation"}, {"relay", "retry"}
"""Arguments of copies and of communication operators that the Python path leaves out."""

NO_RANK_SIZE = 0, -1
"""The size of a communicator that is not known, in the native and in the Python path."""

KERNELS = ("AI_", "MIX_", "KERNEL_", "COMMUNICATION")
"""Beginnings of the task types whose arrows both paths draw; the Python path draws arrows of transfers otherwise."""

Row = Mapping[str, str]


@frozen
class Result:
    """How one file compares: equal rows of all, and examples of what differs."""

    file: str
    rows: int
    equal: int
    differences: tuple[str, ...] = field(default=())

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.differences


def compare(ours: Path, theirs: Path) -> list[Result]:
    """Compare all files that either folder has."""
    matches = [FILE_NAME.fullmatch(path.name) for folder in (ours, theirs) for path in folder.glob("*.csv")]
    names = {match[1] for match in matches if match}
    ordered = sorted(names, key=lambda name: (*(name != first for first in FILE_ORDER), name))
    results = [_csv_result(name, ours, theirs) for name in ordered]
    results += [_timeline_result(name, ours, theirs) for name in TIMELINES]
    return [result for result in results if result is not None]


def _exports(folder: Path, name: str, suffix: str) -> list[Path]:
    return sorted(folder.glob(f"{name}_[0-9]*.{suffix}"))


def _csv_result(name: str, ours: Path, theirs: Path) -> Result | None:
    paths = [_exports(folder, name, "csv") for folder in (ours, theirs)]
    if not any(paths):
        return None
    tables = [read_csv(files) for files in paths]
    if not all(paths):
        return Result(name, max(map(len, tables)), 0, (f"only {'ours' if paths[0] else 'theirs'}",))
    return compare_rows(name, *tables)


def read_csv(paths: Iterable[Path]) -> list[dict[str, str]]:
    """Return the rows of the slices of one file."""
    rows: list[dict[str, str]] = []
    for path in paths:
        with path.open(encoding="utf-8", newline="") as stream:
            # The Python path leaves out cells at the end of a row.
            reader = csv.DictReader(stream, restval="", restkey="more")
            rows += [{key: str(value).strip() for key, value in row.items()} for row in reader]
    return rows


def same(ours: str, theirs: str, column: str = "") -> bool:
    """Whether two cells say the same: the same text, or numbers whose difference is rounding."""
    if ours == theirs or (ours in EMPTY and theirs in EMPTY):
        return True
    try:
        left, right = Decimal(ours), Decimal(theirs)
    except InvalidOperation:
        return False
    most = ROUNDING
    if column == "timestamp(us)":
        most = FLOAT_NS
    elif column == "Task Wait Time(us)":
        most = FLOAT_US
    elif column == "Reduce Duration(us)" and right > OVERFLOW_US / 2:
        right = OVERFLOW_US - right
    elif "MB/s" in column:
        most = max(most, abs(right) * FLOAT_RATE)
    return abs(left - right) <= most


def compare_rows(
    name: str, ours: list[dict[str, str]], theirs: list[dict[str, str]], equal_cells: Callable[..., bool] = same
) -> Result:
    """Compare two tables, rounding apart; *equal_cells* says of two cells and their column whether they are equal."""
    differences = []
    for key in ("ours", "theirs"):
        mine, other = (ours, theirs) if key == "ours" else (theirs, ours)
        if missing := [column for column in (mine[0] if mine else ()) if other and column not in other[0]]:
            differences.append(f"columns of {key} alone: {', '.join(missing)}")
    if len(ours) != len(theirs):
        differences.append(f"{len(ours)} rows of ours, {len(theirs)} of theirs")
    names = UNSORTED.get(name, ())
    pairs = list(zip(_sorted(ours, names), _sorted(theirs, names), strict=False))
    equal, cells = 0, defaultdict[str, list[str]](list)
    for number, (left, right) in enumerate(pairs):
        bad = [
            key
            for key in left
            if key in right and (name, key) not in PASSED and not equal_cells(left[key], right[key], key)
        ]
        equal += not bad
        for key in bad:
            cells[key].append(f"row {number}: {left[key]!r} and {right[key]!r}")
    differences += [f"{key}, {len(rows)} rows: {rows[0]}" for key, rows in cells.items()]
    return Result(name, max(len(ours), len(theirs)), equal, tuple(differences))


def _sorted(rows: list[dict[str, str]], names: tuple[str, ...]) -> list[dict[str, str]]:
    return sorted(rows, key=lambda row: [row.get(name, "") for name in names]) if names else rows


def _timeline_result(name: str, ours: Path, theirs: Path) -> Result | None:
    paths = [_exports(folder, name, "json") for folder in (ours, theirs)]
    if not any(paths):
        return None
    counts = [_slices(files) for files in paths]
    if not all(paths):
        return Result(f"{name}.json", max(map(Counter.total, counts)), 0, (f"only {'ours' if paths[0] else 'theirs'}",))
    return compare_slices(f"{name}.json", *counts)


def compare_slices(name: str, ours: Counter[tuple[str, ...]], theirs: Counter[tuple[str, ...]]) -> Result:
    """Compare slices, counters and arrows of two timelines as multisets."""
    differences = []
    for key, left in (("ours", ours - theirs), ("theirs", theirs - ours)):
        by_layer = defaultdict[str, list[tuple[str, ...]]](list)
        for entry, number in left.items():
            by_layer[" ".join(entry[:2])] += [entry] * number
        differences += [
            f"{layer}, {len(entries)} of {key} alone: {entries[0][2:]}" for layer, entries in by_layer.items()
        ]
    rows = max(ours.total(), theirs.total())
    return Result(name, rows, (ours & theirs).total(), tuple(differences))


def _slices(paths: Iterable[Path]) -> Counter[tuple[str, ...]]:
    events = [event for path in paths for event in json.loads(path.read_text(encoding="utf-8"))]
    return slices(events)


def slices(events: list[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """Return what a timeline shows: (layer, phase, ...) of slices, and of arrows where they end."""
    layers = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    counts: Counter[tuple[str, ...]] = Counter()
    kernels, ends = set[tuple[Any, ...]](), set[tuple[Any, ...]]()
    for event in events:
        layer, name = layers.get(event.get("pid"), "?"), event["name"]
        if event["ph"] == "X":
            args = event.get("args", {})
            if name.startswith("Reduce_") and any(key.startswith("Reduce Start") for key in args):
                # The native path counts reductions over all iterations and gives their times in ns.
                name, args = name.rpartition("_")[0], {}
            if args.get("rank_size") in NO_RANK_SIZE:
                args = {**args, "rank_size": NO_RANK_SIZE[0]}
            duration = str(_rounded(event["dur"]))
            counts[layer, "X", name, event["ts"], duration, _args(args)] += 1
            if layer == "Communication" or str(args.get("Task Type", "")).startswith(KERNELS):
                kernels.add((layer, "arrow", event["ts"]))
        elif event["ph"] == "f" and event.get("cat") == "HostToDevice":
            # The Python path repeats arrows of one id; where they end is what a viewer shows.
            ends.add((layer, "arrow", event["ts"]))
    counts.update(ends & kernels)
    return counts


def _args(args: Mapping[str, Any]) -> str:
    """Return the arguments that both paths show, numbers with three decimals."""
    kept = {key: _rounded(value) for key, value in args.items() if key != "connection_id"}
    for names in NATIVE_ARGS:
        if "notify_id" not in kept:
            kept = {key: value for key, value in kept.items() if key not in names}
    return json.dumps(kept, sort_keys=True)


def _rounded(value: object) -> object:
    return format(Decimal(str(round(value, 3))).normalize(), "f") if isinstance(value, (int, float)) else value
