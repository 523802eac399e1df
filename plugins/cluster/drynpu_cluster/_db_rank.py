"""A rank whose results are databases: ``analysis.db`` and ``ascend_pytorch_profiler_<rank>.db``."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import orjson
import polars as pl
from attrs import frozen

from drynpu import OutputError
from drynpu.layouts.result_files import ANALYSIS_DATABASE, torch_database_file
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu_cluster._find import RankSource

STEP_COLUMNS = (
    "computing",
    "communication_not_overlapped",
    "overlapped",
    "communication",
    "free",
    "stage",
    "bubble",
    "communication_not_overlapped_and_exclude_receive",
    "preparing",
)
TIME_COLUMNS = (
    "start_timestamp",
    "elapse_time",
    "transit_time",
    "wait_time",
    "synchronization_time",
    "idle_time",
)
RATE_COLUMNS = ("transit_size", "transit_time", "bandwidth", "large_packet_ratio", "package_size")
COUNT_COLUMNS = ("count", "total_duration")

_NAMED = ("step", "type", "hccl_op_name", "group_name")
_TABLES = {
    "steps": ("StepTraceTime", ("step",), STEP_COLUMNS),
    "operations": ("CommAnalyzerTime", _NAMED, TIME_COLUMNS),
    "rates": ("CommAnalyzerBandwidth", (*_NAMED, "transport_type"), (*RATE_COLUMNS, *COUNT_COLUMNS)),
    "matrix": (
        "CommAnalyzerMatrix",
        (*_NAMED, "src_rank", "dst_rank", "transport_type", "op_name"),
        ("transit_size", "transit_time"),
    ),
}
"""Table of a rank -> table of the database, its columns of text and of numbers."""


@frozen
class DatabaseFacts:
    """What the profiler's database says of the rank beside its tables."""

    groups: Mapping[str, Mapping[str, object]]
    host: tuple[str, str]
    devices: tuple[tuple[int, int], ...]


def database_path(source: RankSource) -> Path:
    """Return where the profiler's database of a rank lies."""
    return source.path / FRAMEWORK_OUTPUT / torch_database_file(None if source.rank < 0 else source.rank)


def open_read_only(path: Path) -> closing[sqlite3.Connection]:
    """Return a connection, to be closed by ``with``, that neither writes nor leaves files beside the database."""
    return closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True))


def read_db_rank(source: RankSource) -> tuple[Mapping[str, pl.DataFrame], DatabaseFacts]:
    """
    Return the tables ``steps``, ``operations``, ``rates`` and ``matrix``, and the facts of a rank.

    A missing database or table gives a table without rows.

    Raises
    ------
    OutputError
        A database is damaged.
    """
    analysis, profiler = source.path / FRAMEWORK_OUTPUT / ANALYSIS_DATABASE, database_path(source)
    try:
        tables = {name: _table(analysis, *place) for name, place in _TABLES.items()}
        return tables, _facts(profiler)
    except sqlite3.Error as error:
        raise OutputError(f"a database of rank {source.rank} in {source.path} cannot be read: {error}") from error


def _columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}


def _table(path: Path, table: str, texts: Sequence[str], numbers: Sequence[str]) -> pl.DataFrame:
    schema = pl.Schema({**dict.fromkeys(texts, pl.String()), **dict.fromkeys(numbers, pl.Float64())})
    if not path.is_file():
        return pl.DataFrame(schema=schema)
    with open_read_only(path) as connection:
        known = _columns_of(connection, table)
        if not known:
            return pl.DataFrame(schema=schema)
        chosen = ", ".join(f'"{name}"' if name in known else "NULL" for name in schema)
        rows = connection.execute(f'SELECT {chosen} FROM "{table}"').fetchall()
    return pl.DataFrame(rows, schema=schema, orient="row", strict=False)


def _facts(path: Path) -> DatabaseFacts:
    if not path.is_file():
        return DatabaseFacts({}, ("", ""), ())
    with open_read_only(path) as connection:
        groups = _rows(connection, "META_DATA", ("value",), "WHERE name = 'parallel_group_info'")
        hosts = _rows(connection, "HOST_INFO", ("hostUid", "hostName"), "LIMIT 1")
        devices = _rows(connection, "RANK_DEVICE_MAP", ("rankId", "deviceId"))
    named = orjson.loads(groups[0][0]) if groups else {}
    host = (str(hosts[0][0]), str(hosts[0][1])) if hosts else ("", "")
    return DatabaseFacts(named, host, tuple((int(rank), int(device)) for rank, device in devices))


def _rows(
    connection: sqlite3.Connection, table: str, columns: tuple[str, ...], clause: str = ""
) -> list[tuple[str, ...]]:
    if not set(columns) <= _columns_of(connection, table):
        return []
    return connection.execute(f"SELECT {', '.join(columns)} FROM {table} {clause}").fetchall()
