"""``communication_analyzer.db``: the analyses of communication as tables (cann_msprof.md 4.7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from drynpu._errors import OutputError
from drynpu.deliverables.communication.files import json_files
from drynpu.layouts.communication_files import (
    BANDWIDTH_INFO,
    ELAPSE,
    IDLE,
    LARGE_RATIO,
    RATE,
    SIZE,
    SIZES,
    START_TIME,
    SYNCHRONIZATION,
    TIME_INFO,
    TRANSIT,
    TRANSPORT,
    WAIT,
)
from drynpu.layouts.result_files import COMMUNICATION_DATABASE
from drynpu.tables import Profile
from drynpu.writers.db import Table
from drynpu.writers.files import make_directory, new_path

_NAME = COMMUNICATION_DATABASE
_TIME, _BANDWIDTH, _MATRIX = "CommAnalyzerTime", "CommAnalyzerBandwidth", "CommAnalyzerMatrix"
_RULES: Mapping[str, tuple[str, ...]] = {"communication": (_TIME, _BANDWIDTH), "communication_matrix": (_MATRIX,)}

_TIME_COLUMNS = (START_TIME, ELAPSE, TRANSIT, WAIT, SYNCHRONIZATION, IDLE)
_LINK_COLUMNS = (SIZE, TRANSIT, RATE)
_NO_PACKETS = {"0": (0, 0)}

Row = tuple[Any, ...]
Operators = Mapping[str, Mapping[str, Any]]
"""Entries of one document by ``<operator>@<group>``; the sum of all operators has no group and no row."""


def _table(name: str, texts: str, numbers: str) -> Table:
    kinds = [(column, "TEXT") for column in texts.split()] + [(column, "INTEGER") for column in numbers.split()]
    return Table(name, dict(kinds))


# A column of numbers is INTEGER, which in SQLite holds fractions as well.
_TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        _table(
            _TIME,
            "hccl_op_name group_name",
            "start_timestamp elapse_time transit_time wait_time synchronization_time idle_time",
        ),
        _table(
            _BANDWIDTH,
            "hccl_op_name group_name transport_type",
            "transit_size transit_time bandwidth large_packet_ratio package_size count total_duration",
        ),
        _table(
            _MATRIX,
            "hccl_op_name group_name src_rank dst_rank transport_type",
            "transit_size transit_time bandwidth",
        ),
    )
}


def export_communication_db(profile: Profile, directory: Path, rules: Collection[str]) -> Path | None:
    """
    Write ``analyze/communication_analyzer.db`` below *directory*, in place of an earlier one.

    Its rows equal communication.json and communication_matrix.json without the sum of all operators: times in
    ms (starts in us), sizes in 10^6 bytes, rates in GB/s. A transport that moved nothing has no row, and one without
    packets of its own (SDMA, the sum of others) one row with packet size 0. Tables of another rule that an earlier
    run left are written again.

    Parameters
    ----------
    rules:
        ``communication`` for CommAnalyzerTime and CommAnalyzerBandwidth, ``communication_matrix`` for
        CommAnalyzerMatrix.

    Returns
    -------
    Path | None
        The file (mode 0640); ``None`` without communication.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    documents: Mapping[str, Any] = {Path(name).stem: document for name, document in json_files(profile).items()}
    if not documents:
        return None
    path = make_directory(directory / "analyze") / _NAME
    wanted = {name for rule in rules for name in _RULES[rule]} | _tables_in(path)
    rows: Mapping[str, Callable[[], Iterable[Row]]] = {
        _TIME: lambda: time_rows(documents["communication"]),
        _BANDWIDTH: lambda: bandwidth_rows(documents["communication"]),
        _MATRIX: lambda: (row for row, _ in link_rows(documents["communication_matrix"])),
    }
    with new_path(path) as partial:
        try:
            with closing(sqlite3.connect(partial)) as database, database:
                for name in (name for name in rows if name in wanted):
                    database.execute(_TABLES[name].create())
                    database.executemany(_TABLES[name].insert(), rows[name]())
        except sqlite3.Error as error:
            raise OutputError(f"{path}: cannot be written: {error}") from error
    return path


def _tables_in(path: Path) -> set[str]:
    """Return the tables of ours that an earlier run left; none in a file that is not there or no database."""
    if not path.is_file():
        return set()
    try:
        with closing(sqlite3.connect(path)) as database:
            return {name for (name,) in database.execute("SELECT name FROM sqlite_master")} & set(_TABLES)
    except sqlite3.Error:
        return set()


def time_rows(operators: Operators) -> Iterator[Row]:
    """Yield operator, group, start in us, and five times in ms."""
    for name, group, entry in _entries(operators):
        yield name, group, *(entry[TIME_INFO][title] for title in _TIME_COLUMNS)


def bandwidth_rows(operators: Operators) -> Iterator[Row]:
    """
    Yield operator, group, transport, 10^6 bytes, ms, GB/s, ratio of large packets; size, number and ms of packets.

    A transport that moved nothing has no row; one without packets of its own (SDMA, the sum of others) has one row
    with packet size 0.
    """
    for name, group, entry in _entries(operators):
        for transport, moved in entry[BANDWIDTH_INFO].items():
            values = (*(moved[title] for title in _LINK_COLUMNS), moved[LARGE_RATIO])
            if values[0]:
                for size, (count, total) in (moved[SIZES] or _NO_PACKETS).items():
                    yield name, group, transport, *values, float(size), count, total


def link_rows(operators: Operators) -> Iterator[tuple[Row, Mapping[str, Any]]]:
    """Yield operator, group, both ranks, transport, 10^6 bytes, ms, GB/s; and what the document says of the link."""
    for name, group, entry in _entries(operators):
        for ends, link in entry.items():
            moved = (link[TRANSPORT], *(link[title] for title in _LINK_COLUMNS))
            yield (name, group, *ends.split("-"), *moved), link


def _entries(operators: Operators) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for key, entry in operators.items():
        name, separator, group = key.partition("@")
        if separator:
            yield name, group, entry
