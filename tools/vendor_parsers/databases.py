"""
Two databases of the toolkit, table by table.

Only the native path of the vendor's parser writes one. Numbers that refer to rows of other tables (texts, tasks, calls,
operators of communication) are given out in another order by each writer, so what they stand for is compared.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from comparison import Result

TEXTS = {
    "TASK": ("taskType",),
    "CANN_API": ("name",),
    "MSTX_EVENTS": ("message", "domainId"),
    "COMPUTE_TASK_INFO": (
        *("name", "taskType", "opType", "inputFormats", "inputDataTypes", "inputShapes", "outputFormats"),
        *("outputDataTypes", "outputShapes", "opState", "hf32Eligible", "gridDim", "blockDim", "attrInfo"),
    ),
    "COMMUNICATION_TASK_INFO": ("name", "taskType", "groupName"),
    "COMMUNICATION_SCHEDULE_TASK_INFO": ("name", "taskType", "opType"),
    "COMMUNICATION_OP": ("opName", "groupName", "algType", "opType"),
    "TASK_PMU_INFO": ("name",),
    "SAMPLE_PMU_TIMELINE": ("coreType",),
    "SAMPLE_PMU_SUMMARY": ("metric", "coreType"),
    "NPU_MEM": ("type",),
    "NPU_OP_MEM": ("operatorName", "type", "component"),
    "HBM": ("type",),
    "DDR": (),
    "LLC": ("mode",),
    "NETDEV_STATS": (),
    "QOS": ("eventName",),
}
"""Columns that hold the number of a text in STRING_IDS, by their table."""

REFERENCES = {
    "globalTaskId": ("TASK", "globalTaskId", ("deviceId", "startNs", "streamId", "contextId")),
    "connectionId": ("CANN_API", "connectionId", ("startNs", "type")),
    "opId": ("COMMUNICATION_OP", "opId", ("startNs", "endNs")),
}
"""Columns of numbers, with the table, the column and the columns that say which row is meant."""

NOT_COMPARED = ("STRING_IDS",)
PASSED = {("COMPUTE_TASK_INFO", "attrInfo")}
"""Columns in which the checkout differs from genuine databases (docs/consumers.md), which we follow."""

SAMPLES = {"HBM", "LLC", "NPU_MEM", "DDR", "QOS", "SOC_BANDWIDTH_LEVEL", "ACC_PMU"}
"""Tables whose times the native path keeps as 64-bit floats of ns since 1970, and computes rates from them."""

FLOAT_STEP_NS = 256
FLOAT_SHARE = 2e-4
"""How far times and rates of samples may be from each other."""

ROUNDING_NS = 1
"""Ends of tasks and of what follows from them, which the native path has from a float."""

NARROW = {"PCIE"}
"""Tables whose rates the native path keeps in 32 bits, which bytes per second overflow."""

REPEATED = {"AICORE_FREQ"}
"""Tables to which the native path adds the same rows once for each thing that it exports."""

NOT_STATED = {"COMMUNICATION_TASK_INFO": {"taskType": "N/A", "size": -1}}
"""Rows of tasks of which nothing is recorded, at level l0: the native path has them with a size of -1 bytes."""

Row = tuple[object, ...]


def compare_databases(ours: Path, theirs: Path) -> Result | None:
    """Compare the newest databases of two PROF directories; ``None`` where the vendor's parser wrote none."""
    paths = [max(folder.glob("msprof_*.db"), default=None) for folder in (ours, theirs)]
    if paths[1] is None:
        return None
    if paths[0] is None:
        return Result("msprof_*.db", 1, 0, ("only theirs",))
    with closing(sqlite3.connect(paths[0])) as mine, closing(sqlite3.connect(paths[1])) as other:
        names = sorted({*_tables(mine), *_tables(other)} - {*NOT_COMPARED})
        compared = [compare_tables(name, _rows(mine, name), _rows(other, name)) for name in names]
    differences = tuple(text for result in compared for text in result.differences)
    return Result(
        "msprof_*.db", sum(result.rows for result in compared), sum(result.equal for result in compared), differences
    )


def compare_tables(table: str, ours: list[Row], theirs: list[Row]) -> Result:
    """Compare the rows of two tables as multisets; numbers that floats have moved are let pass."""
    if table in REPEATED:
        ours, theirs = list(dict.fromkeys(ours)), list(dict.fromkeys(theirs))
    mine, other = Counter(ours), Counter(theirs)
    left, right = mine - other, other - mine
    equal = (mine & other).total()
    for row in list(left.elements()):
        near = next((each for each in right if _near(table, row, each)), None)
        if near is not None:
            right -= Counter([near])
            left -= Counter([row])
            equal += 1
    if table in SAMPLES and theirs:
        # A sample at the begin is left out where its float falls before it.
        begin = min(time for row in ours for time in _times(row))
        left = Counter({row: number for row, number in left.items() if begin not in _times(row)})
    sides = (("ours", left), ("theirs", right))
    differences = [f"{table}: {rows.total()} rows of {key} alone: {min(map(str, rows))}" for key, rows in sides if rows]
    return Result(table, equal + max(left.total(), right.total()), equal, tuple(differences))


def _times(row: Row) -> list[int]:
    """Return the values of a row that are ns since 1970: none other is as large."""
    return [value for value in row if isinstance(value, int) and value > _YEAR_2000_NS]


_YEAR_2000_NS = 946_684_800_000_000_000


def _near(table: str, ours: Row, theirs: Row) -> bool:
    """Whether rows are equal but for what floats do to numbers."""
    return len(ours) == len(theirs) and all(
        left == right or _near_numbers(table, left, right) for left, right in zip(ours, theirs, strict=True)
    )


def _near_numbers(table: str, ours: object, theirs: object) -> bool:
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return _near(table, ours, theirs)
    if isinstance(ours, tuple):
        # A call from nowhere gets the number of the root of all calls, which no row has.
        return isinstance(theirs, int)
    if ours is None:
        # What was not measured is a 0 there.
        return theirs == 0
    if table in NARROW and isinstance(ours, int) and ours % 2**32 == theirs:
        return True
    if not isinstance(ours, (int, float)) or not isinstance(theirs, (int, float)):
        return False
    if ours > _YEAR_2000_NS:
        return abs(ours - theirs) <= (FLOAT_STEP_NS if table in SAMPLES else ROUNDING_NS)
    share = FLOAT_SHARE if table in SAMPLES else 1e-12
    return (table in SAMPLES or isinstance(ours, float) or isinstance(theirs, float)) and abs(
        ours - theirs
    ) <= share * abs(theirs)


def _tables(database: sqlite3.Connection) -> list[str]:
    return [str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def _rows(database: sqlite3.Connection, table: str) -> list[Row]:
    """Return the rows of a table with what its numbers of texts and rows stand for, each (name, value) of a column."""
    if table not in _tables(database):
        return []
    texts = dict(database.execute("SELECT id, value FROM STRING_IDS").fetchall())
    lookups: dict[str, Mapping[object, object]] = dict.fromkeys(TEXTS.get(table, ()), texts)
    for column, reference in REFERENCES.items():
        lookups[column] = _referred(database, *reference)
    cursor = database.execute(f"SELECT * FROM {table}")
    names = [name for name, *_ in cursor.description]
    kept = [number for number, name in enumerate(names) if (table, name) not in PASSED]
    rows = [row for row in cursor if not _is_unstated(table, dict(zip(names, row, strict=True)), texts)]
    return [tuple(_shown(lookups.get(names[number], {}), row[number]) for number in kept) for row in rows]


def _is_unstated(table: str, row: Mapping[str, object], texts: Mapping[object, object]) -> bool:
    unstated = NOT_STATED.get(table)
    return unstated is not None and all(value in (row[name], texts.get(row[name])) for name, value in unstated.items())


def _shown(lookup: Mapping[object, object], value: object) -> object:
    return lookup.get(value, value)


def _referred(
    database: sqlite3.Connection, table: str, key: str, columns: tuple[str, ...]
) -> dict[object, tuple[Row, ...]]:
    """Return what rows of a table say, by the number that other tables call them by."""
    rows_by_number = defaultdict[object, list[Row]](list)
    if table in _tables(database):
        for number, *rest in database.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
            rows_by_number[number].append(tuple(rest))
    return {number: tuple(sorted(rows)) for number, rows in rows_by_number.items()}
