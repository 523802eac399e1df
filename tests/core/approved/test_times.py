"""
Every time of every file lies in the run: of text, timelines and databases, on all chips, whichever clock it comes from.

A time of another clock (since the machine started, or ticks) is far outside.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from subjects import CASES, RECORDED_RUNS, Subjects

from drynpu.deliverables.registry import RECORD_KINDS
from drynpu.options import ExportType
from drynpu.products import export_msprof, export_msprof_db, export_result
from drynpu.raw import ProfReader

TIME = re.compile(r"(^|[ _])(time ?stamp|start|begin|end|stop)|(allocation|release|start|end) ?_?time|^ts$|Ns$", re.I)
"""Names of columns and keys that hold times."""

OTHER = re.compile(r"Index|GlobalTid$|^duration|_start_to_")
"""Names of lengths and numbers that read like times."""

MACHINE_CLOCK = ("aicpu_mi",)
"""Files whose times are us since the machine started, as the toolkit leaves them; no timeline shows their rows."""

LEAST_NS = 1e17
"""Times since 1970 are above it in ns, and below it in us."""

BEFORE_NS, AFTER_NS = 1_000_000, 1_000_000_000
"""The first call is before the begin; samplers of the host go on after the end, while the records are written."""


def _numbers(texts: Iterator[object]) -> list[float]:
    kept = []
    for text in texts:
        try:
            kept.append(float(str(text).strip()))
        except ValueError:
            continue
    return kept


def _csv_columns(path: Path) -> Iterator[tuple[str, list[float]]]:
    with path.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    for name in rows[0] if rows else ():
        yield name, _numbers(row[name] for row in rows)


def _json_columns(path: Path) -> Iterator[tuple[str, list[float]]]:
    """Give the times of events, and all other numbers of a document by their keys."""
    numbers: dict[str, list[object]] = {}
    waiting: list[object] = [json.loads(path.read_text(encoding="utf-8"))]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [each for each in value.values() if isinstance(each, (dict, list))]
            for key, each in value.items():
                if not isinstance(each, (dict, list)):
                    numbers.setdefault(key, []).append(each)
        elif isinstance(value, list):
            waiting += value
    for key, values in numbers.items():
        yield key, _numbers(iter(values))


def _table_columns(path: Path) -> Iterator[tuple[str, list[float]]]:
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            cursor = database.execute(f"SELECT * FROM {table}")
            names, rows = [name for name, *_ in cursor.description], cursor.fetchall()
            for place, name in enumerate(names):
                yield f"{table}.{name}", _numbers(row[place] for row in rows)


READERS = {".csv": _csv_columns, ".json": _json_columns, ".db": _table_columns}


@pytest.mark.parametrize("subject", [*CASES, *RECORDED_RUNS])
def test_every_time_of_every_file_lies_in_the_run(subjects: Subjects, subject: str, tmp_path: Path) -> None:
    profile = subjects.profile(subject)
    written = [*export_result(profile, [ExportType.TEXT, ExportType.DB]), *export_msprof(profile, tmp_path)]
    if (database := export_msprof_db(profile)) is not None:
        written.append(database)
    assert profile.prof_path is not None
    clock = ProfReader(profile.prof_path, RECORD_KINDS).anchors()
    first, last = profile.begin_ns - BEFORE_NS, profile.end_ns + AFTER_NS
    columns, outside = 0, []
    for path in written:
        of_machine = path.name.startswith(MACHINE_CLOCK)
        for name, values in READERS[path.suffix](path) if path.suffix in READERS else ():
            column = name.rpartition(".")[2]
            if not values or not TIME.search(column) or OTHER.search(column):
                continue
            columns += 1
            # Totals of communication.json have the time 0.
            shift_ns = clock.offset_ns if of_machine else 0
            times = [(value if value > LEAST_NS else value * 1000) + shift_ns for value in values if value]
            if times and not (first <= min(times) and max(times) <= last):
                outside.append((path.name, name, *(round(edge(times) - profile.begin_ns) for edge in (min, max))))
    assert columns > 10
    assert not outside
