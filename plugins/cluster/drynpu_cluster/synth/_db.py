"""A synthetic rank as databases: copies of a recorded rank's, in which times, ranks and groups are changed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import orjson

from drynpu.arrays import I64
from drynpu.layouts.communication_files import START_TIME
from drynpu.layouts.result_files import ANALYSIS_DATABASE, torch_database_file
from drynpu.products.torch.db_analysis import communication_rows
from drynpu.raw import ClockAnchors
from drynpu.writers.files import new_path
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu_cluster import _facts as f
from drynpu_cluster._db_rank import STEP_COLUMNS, database_path
from drynpu_cluster._find import RankSource
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._linked import LinkedRank
from drynpu_cluster.synth._plan import DB_TITLES, RankPlan, changed_step, changed_times, step_key
from drynpu_cluster.synth._warp import Span, Warp, build_warp, on_grid

_TIMES = {
    "start_timestamp": START_TIME,
    "elapse_time": f.ELAPSE,
    "transit_time": f.TRANSIT,
    "wait_time": f.WAIT,
    "synchronization_time": f.SYNCHRONIZATION,
    "idle_time": f.IDLE,
}
_OF_DEVICE = ("TASK", "COMMUNICATION_OP")
"""Tables whose instants are ticks of the device."""
_INSTANTS = ("startNs", "endNs", "timestampNs")


def write_db_rank(
    source: RankSource,
    output: Path,
    plan: RankPlan,
    groups: GroupCopies,
    linked: LinkedRank | None,
    anchors: ClockAnchors | None = None,
) -> Warp:
    """
    Write the databases of a synthetic rank to the folder *output*.

    With the links of a topology its communication comes from *linked*. With *anchors* what the device did begins
    and ends on its ticks. Returns the map of times.
    """
    spans: Sequence[Span] = ()
    analysis = source.path / FRAMEWORK_OUTPUT / ANALYSIS_DATABASE
    if analysis.is_file():
        with new_path(output / ANALYSIS_DATABASE) as partial, _copied(analysis, partial) as connection:
            _steps(connection, plan)
            if linked is None:
                spans = _operators(connection, plan, groups)
                _rates(connection, plan, groups)
                _matrix(connection, plan, groups)
            else:
                spans = linked.spans
                _replace(connection, linked)
            _sit(connection, plan)
    alone = next(iter(plan.steps.values())).alone
    warp = build_warp(min((span.start_ns for span in spans), default=0), spans, alone)
    profiler = database_path(source)
    if profiler.is_file():
        path = output / torch_database_file(plan.rank)
        with new_path(path) as partial, _copied(profiler, partial) as connection:
            warp = _move_times(connection, spans, alone, anchors)
            _rename(connection, plan, groups)
            _sit(connection, plan)
    return warp


@contextmanager
def _copied(source: Path, path: Path) -> Iterator[sqlite3.Connection]:
    """Give a connection to a copy of a database; what is changed is kept."""
    shutil.copyfile(source, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Nobody reads the file before it is whole.
        for setting in ("journal_mode=OFF", "synchronous=OFF"):
            connection.execute(f"PRAGMA {setting}")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')}


def _operators(connection: sqlite3.Connection, plan: RankPlan, groups: GroupCopies) -> list[Span]:
    """Change the times and names of operators; return their durations in the plan."""
    if not {"rowid", *_TIMES} <= {"rowid", *_columns(connection, "CommAnalyzerTime")}:
        return []
    titles = ("step", "type", "hccl_op_name", "group_name", *_TIMES)
    rows = connection.execute(f"SELECT rowid, {', '.join(titles)} FROM CommAnalyzerTime").fetchall()
    spans, changed = [], []
    for number, step, kind, name, key, *values in rows:
        planned = plan.steps[step_key(step)]
        known = dict(zip(_TIMES.values(), (float(value or 0) for value in values), strict=True))
        new = changed_times(known, planned, collective=kind == f.COLLECTIVE)
        start_ns = round(known[START_TIME] * 1000)
        spans.append(Span(start_ns, round(known[f.ELAPSE] * 1e6), round(new[f.ELAPSE] * 1e6), planned.alone))
        renamed = groups.renamed_operator(name, key)
        changed.append((*(new[title] for title in _TIMES.values()), renamed, groups.keys.get(key, key), number))
    places = ", ".join(f"{title} = ?" for title in _TIMES)
    connection.executemany(
        f"UPDATE CommAnalyzerTime SET {places}, hccl_op_name = ?, group_name = ? WHERE rowid = ?", changed
    )
    return spans


def _steps(connection: sqlite3.Connection, plan: RankPlan) -> None:
    columns = [name for name in STEP_COLUMNS if name in _columns(connection, "StepTraceTime")]
    if not columns:
        return
    rows = connection.execute(f"SELECT rowid, step, {', '.join(columns)} FROM StepTraceTime").fetchall()
    changed = []
    for number, step, *values in rows:
        known = dict(zip(columns, (float(value or 0) for value in values), strict=True))
        shown = changed_step(known, plan.steps[str(step)], DB_TITLES)
        changed.append((*(round(shown[name], 3) for name in columns), number))
    places = ", ".join(f"{name} = ?" for name in columns)
    connection.executemany(f"UPDATE StepTraceTime SET {places} WHERE rowid = ?", changed)


def _rates(connection: sqlite3.Connection, plan: RankPlan, groups: GroupCopies) -> None:
    if "transit_time" not in _columns(connection, "CommAnalyzerBandwidth"):
        return
    rows = connection.execute(
        "SELECT rowid, step, hccl_op_name, group_name, transit_size, transit_time, total_duration "
        "FROM CommAnalyzerBandwidth"
    ).fetchall()
    changed = []
    for number, step, name, key, size, time_ms, spent in rows:
        factor = plan.steps[step_key(step)].transit
        new_ms, new_spent = (time_ms or 0) * factor, (spent or 0) * factor
        rate = f.ratio(size or 0, new_ms)
        renamed = groups.renamed_operator(name, key)
        changed.append((new_ms, rate, new_spent, renamed, groups.keys.get(key, key), number))
    connection.executemany(
        "UPDATE CommAnalyzerBandwidth SET transit_time = ?, bandwidth = ?, total_duration = ?, hccl_op_name = ?, "
        "group_name = ? WHERE rowid = ?",
        changed,
    )


def _matrix(connection: sqlite3.Connection, plan: RankPlan, groups: GroupCopies) -> None:
    if "transit_time" not in _columns(connection, "CommAnalyzerMatrix"):
        return
    rows = connection.execute(
        "SELECT rowid, step, group_name, src_rank, dst_rank, op_name, transit_size, transit_time "
        "FROM CommAnalyzerMatrix"
    ).fetchall()
    changed = []
    for number, step, key, source, end, operator, size, time_ms in rows:
        ends = groups.link(source, end, key)
        new_ms = (time_ms or 0) * plan.link_change(step_key(step), ends)
        renamed = groups.renamed_operator(operator, key) if operator else operator
        rate = f.ratio(size or 0, new_ms)
        changed.append((*ends, renamed, new_ms, rate, groups.keys.get(key, key), number))
    connection.executemany(
        "UPDATE CommAnalyzerMatrix SET src_rank = ?, dst_rank = ?, op_name = ?, transit_time = ?, bandwidth = ?, "
        "group_name = ? WHERE rowid = ?",
        changed,
    )


def _replace(connection: sqlite3.Connection, linked: LinkedRank) -> None:
    """Put the communication of a rank in place of what was recorded; other columns of the tables are empty."""
    for table, rows in communication_rows(linked.documents):
        known = _columns(connection, table)
        if not known:
            continue
        columns = [name for name in rows.columns if name in known]
        connection.execute(f'DELETE FROM "{table}"')
        places = ", ".join("?" * len(columns))
        chosen = rows.select(columns).iter_rows()
        connection.executemany(f'INSERT INTO "{table}" ({", ".join(columns)}) VALUES ({places})', chosen)


def _sit(connection: sqlite3.Connection, plan: RankPlan) -> None:
    """Let all tables name the device on which the rank sits in a topology."""
    if plan.device is None:
        return
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        if "deviceId" in _columns(connection, table):
            connection.execute(f'UPDATE "{table}" SET deviceId = ?', (plan.device,))
    if "id" in _columns(connection, "NPU_INFO"):
        connection.execute("UPDATE NPU_INFO SET id = ?", (plan.device,))


def _move_times(
    connection: sqlite3.Connection, spans: Sequence[Span], alone: float, anchors: ClockAnchors | None
) -> Warp:
    """Move all instants of all tables to the timeline of the rank, and return it."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    columns = {name: [title for title in _INSTANTS if title in _columns(connection, name)] for name in tables}
    columns = {name: titles for name, titles in columns.items() if titles}
    known: dict[str, list[tuple[int, ...]]] = {
        name: connection.execute(f'SELECT rowid, {", ".join(titles)} FROM "{name}"').fetchall()
        for name, titles in columns.items()
    }
    first = min((row[1] for row in known.get("TASK", []) if row[1]), default=0)
    warp = build_warp(first or min((span.start_ns for span in spans), default=0), spans, alone)
    for name, titles in columns.items():
        rows = np.array(known[name], dtype=object)
        if not len(rows):
            continue
        grid = anchors if name in _OF_DEVICE else None
        moved = [_moved(warp, rows[:, place + 1], grid) for place in range(len(titles))]
        places = ", ".join(f"{title} = ?" for title in titles)
        values = zip(*(column.tolist() for column in moved), rows[:, 0].tolist(), strict=True)
        connection.executemany(f'UPDATE "{name}" SET {places} WHERE rowid = ?', values)
    return warp


def _moved(
    warp: Warp, values: np.ndarray[tuple[int], np.dtype[np.object_]], anchors: ClockAnchors | None
) -> np.ndarray[tuple[int], np.dtype[np.object_]]:
    """Return instants in the timeline of the rank; what is no number stays."""
    known = np.array([isinstance(value, int) for value in values])
    moved = values.copy()
    instants: I64 = values[known].astype(np.int64)
    mapped = warp(instants)
    moved[known] = (mapped if anchors is None else on_grid(anchors, mapped)).tolist()
    return moved


def _rename(connection: sqlite3.Connection, plan: RankPlan, groups: GroupCopies) -> None:
    """Turn the database into another rank's: its rank, groups, operators of groups, and host."""
    if "rankId" in _columns(connection, "RANK_DEVICE_MAP"):
        connection.execute("UPDATE RANK_DEVICE_MAP SET rankId = ?", (plan.rank,))
    host = plan.copy or None if plan.node is None else plan.node
    if host is not None and {"hostUid", "hostName"} <= _columns(connection, "HOST_INFO"):
        change = (f"_{host}", f"-{host}" if plan.node is not None else f"_{host}")
        connection.execute("UPDATE HOST_INFO SET hostUid = hostUid || ?, hostName = hostName || ?", change)
    if {"name", "value"} <= _columns(connection, "META_DATA"):
        connection.execute("DELETE FROM META_DATA WHERE name IN ('parallel_group_info', 'distributed_args')")
        said = orjson.dumps(groups.metadata).decode()
        connection.execute("INSERT INTO META_DATA (name, value) VALUES ('parallel_group_info', ?)", (said,))
    if not {"opName", "groupName"} <= _columns(connection, "COMMUNICATION_OP"):
        return
    names: Mapping[int, str] = dict(connection.execute("SELECT id, value FROM STRING_IDS").fetchall())
    pairs = connection.execute("SELECT DISTINCT opName, groupName FROM COMMUNICATION_OP").fetchall()
    changed = {}
    for operator, group in pairs:
        key = names.get(group, "")
        changed[group] = groups.keys.get(key, key)
        changed[operator] = groups.renamed_operator(names.get(operator, ""), key)
    connection.executemany(
        "UPDATE STRING_IDS SET value = ? WHERE id = ?", [(text, number) for number, text in changed.items()]
    )
