"""Two ASCEND_PROFILER_OUTPUT of the same raw data, row by row: ours and the one of torch_npu's analysis."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from comparison import Result, compare_rows, compare_slices, read_csv

FILE_ORDER = ("operator_details.csv", "kernel_details.csv", "step_trace_time.csv", "op_statistic.csv")
NOT_COMPARED = ("CONNECTION_IDS", "PYTORCH_CALLCHAINS")
"""Tables of numbers that others refer to: what the numbers stand for is compared where they are used."""

NOT_SHOWN = {"STRING_IDS": "id"}
"""Columns of numbers that each writer gives out in another order, by their table."""

TEXT_COLUMNS = (
    *("name", "component", "inputDtypes", "inputShapes", "opName", "groupName", "taskType", "opType", "message"),
    *("inputFormats", "inputDataTypes", "outputFormats", "outputDataTypes", "outputShapes", "attrInfo", "opState"),
    *("hf32Eligible", "algType", "domainId", "operatorName", "type"),
)
"""Columns that hold the number of a text in STRING_IDS."""

FLOAT_SUM = Decimal("1e-6")
"""Sums of floats may differ in the last bits."""

DIFFERENCES = ("Stage", "Preparing")
SINCE_1970 = Decimal("0.5")
"""The vendor subtracts floats of us since 1970, which have steps of 0.25; ours are differences of whole ns."""

RANK = re.compile(r"_\d+(?=\.db$)")
"""The rank in the name of a database."""

SHARED_ID = "torch_to_npu"
"""Arrows whose ids the vendor gives twice where two device events start in one ns; ours are unique."""

Row = tuple[object, ...]


def compare_runs(ours: Path, theirs: Path) -> list[Result]:
    """Compare all files that either output has; a database by the rows of its tables."""
    names = {path.name for folder in (ours, theirs) for path in folder.iterdir() if path.suffix != ".done"}
    ordered = sorted(names, key=lambda name: (*(name != first for first in FILE_ORDER), name))
    return [_compare(name, ours / name, theirs / name) for name in ordered]


def _compare(name: str, ours: Path, theirs: Path) -> Result:
    if not ours.is_file() or not theirs.is_file():
        return Result(name, 1, 0, (f"only {'ours' if ours.is_file() else 'theirs'}",))
    if name.endswith(".csv"):
        return compare_rows(name, read_csv([ours]), read_csv([theirs]), same_cell)
    if name.endswith(".db"):
        return _database(RANK.sub("", name), ours, theirs)
    try:
        documents = [json.loads(path.read_text(encoding="utf-8")) for path in (ours, theirs)]
    except json.JSONDecodeError as error:  # an analysis that was ended leaves half a file
        return Result(name, 1, 0, (f"cannot be read: {error}",))
    if name == "trace_view.json":
        return compare_slices(name, *(trace_events(document) for document in documents))
    return compare_slices(name, *(Counter(leaves(document)) for document in documents))


def same_cell(ours: str, theirs: str, column: str = "") -> bool:
    """Whether two cells are the same text, or numbers that differ as floats of the vendor's do."""
    if ours == theirs:
        return True
    try:
        return abs(Decimal(ours) - Decimal(theirs)) <= (SINCE_1970 if column in DIFFERENCES else FLOAT_SUM)
    except InvalidOperation:
        return False


def trace_events(events: Iterable[dict[str, Any]]) -> Counter[tuple[str, ...]]:
    """Return all events of a timeline as (layer, phase, rest)."""
    events = list(events)
    layers = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    return Counter(
        (
            str(layers.get(event.get("pid"), "?")),
            f"{event['ph']} {event.get('cat', '')}",
            json.dumps(event if event["name"] != SHARED_ID else {**event, "id": 0}, sort_keys=True),
        )
        for event in events
    )


def leaves(document: object, *path: str) -> Iterator[tuple[str, ...]]:
    """Give the values of a nested document, each with its path."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, *path, str(key))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from leaves(value, *path, str(number))
    else:
        shown = format(round(document, 9), "g") if isinstance(document, float) else str(document)
        yield path[0] if path else "", ".".join(path[1:]), shown


def _database(name: str, ours: Path, theirs: Path) -> Result:
    with closing(sqlite3.connect(ours)) as mine, closing(sqlite3.connect(theirs)) as other:
        names = sorted({*_tables(mine), *_tables(other)} - {*NOT_COMPARED})
        compared = [compare_tables(table, _rows(mine, table), _rows(other, table)) for table in names]
    differences = tuple(text for result in compared for text in result.differences)
    return Result(name, sum(result.rows for result in compared), sum(result.equal for result in compared), differences)


def _tables(database: sqlite3.Connection) -> list[str]:
    return [str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def compare_tables(table: str, ours: Counter[Row], theirs: Counter[Row]) -> Result:
    """Compare the rows of two tables as multisets."""
    sides = (("ours", ours - theirs), ("theirs", theirs - ours))
    differences = [f"{table}: {left.total()} rows of {key} alone: {min(map(str, left))}" for key, left in sides if left]
    return Result(table, max(ours.total(), theirs.total()), (ours & theirs).total(), tuple(differences))


def _rows(database: sqlite3.Connection, table: str) -> Counter[Row]:
    """Return the rows of a table with what its numbers of texts, connections and stacks stand for."""
    if table not in _tables(database):
        return Counter()
    texts = (
        dict(database.execute("SELECT id, value FROM STRING_IDS").fetchall())
        if "STRING_IDS" in _tables(database)
        else {}
    )
    lookups: dict[str, dict[object, object]] = dict.fromkeys(TEXT_COLUMNS, texts)
    if table == "PYTORCH_API":
        connections = _grouped(database, "CONNECTION_IDS", "id, connectionId")
        lookups["connectionId"] = {number: (number, *rows) for number, rows in connections.items()}
        stacks = _grouped(database, "PYTORCH_CALLCHAINS", "id, stackDepth, stack")
        lookups["callchainId"] = {
            key: tuple((depth, texts.get(text)) for depth, text in lines) for key, lines in stacks.items()
        }
    cursor = database.execute(f"SELECT * FROM {table}")
    hidden = NOT_SHOWN.get(table)
    columns = [None if column == hidden else lookups.get(column, {}) for column, *_ in cursor.description]
    return Counter(
        tuple(
            _shown(lookup.get(value, value)) for lookup, value in zip(columns, row, strict=True) if lookup is not None
        )
        for row in cursor
    )


def _shown(value: object) -> object:
    return round(value, 6) if isinstance(value, float) else value


def _grouped(database: sqlite3.Connection, table: str, columns: str) -> dict[object, tuple[Row, ...]]:
    """Return the rows of a table by their first column, in order."""
    rows_by_key = defaultdict[object, list[Row]](list)
    if table in _tables(database):
        for key, *rest in database.execute(f"SELECT {columns} FROM {table}"):
            rows_by_key[key].append(tuple(rest))
    return {key: tuple(sorted(rows)) for key, rows in rows_by_key.items()}
