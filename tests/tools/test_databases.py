"""The comparison of databases of tools/vendor_parsers, on rows written by hand."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import databases

NOW_NS = 1_795_399_579_567_430_000


def write(folder: Path, *tables: tuple[str, str, list[tuple[object, ...]]]) -> Path:
    folder.mkdir()
    connection = sqlite3.connect(folder / "msprof_20260101000000.db")
    for name, columns, rows in tables:
        connection.execute(f"CREATE TABLE {name} ({columns})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.commit()
    connection.close()
    return folder


TASK = "startNs, endNs, deviceId, connectionId, globalTaskId, taskType, streamId, contextId"
CANN_API = "startNs, endNs, type, connectionId, name"
COUNTERS = "globalTaskId, name, value"


def test_rows_are_equal_however_their_numbers_were_given(tmp_path: Path) -> None:
    ours = write(
        tmp_path / "ours",
        ("STRING_IDS", "id, value", [(1, "KERNEL"), (2, "Launch"), (3, "mac_ratio")]),
        ("TASK", TASK, [(NOW_NS, NOW_NS + 500, 0, 11, 0, 1, 2, 9)]),
        ("CANN_API", CANN_API, [(NOW_NS - 90, NOW_NS - 20, 5000, 11, 2)]),
        ("TASK_PMU_INFO", COUNTERS, [(0, 3, 0.125)]),
    )
    texts = ("STRING_IDS", "id, value", [(7, "Launch"), (8, "mac_ratio"), (9, "KERNEL")])
    api = ("CANN_API", CANN_API, [(NOW_NS - 90, NOW_NS - 20, 5000, 40, 7)])
    counters = ("TASK_PMU_INFO", COUNTERS, [(5, 8, 0.125)])
    theirs = write(
        tmp_path / "theirs", texts, ("TASK", TASK, [(NOW_NS, NOW_NS + 501, 0, 40, 5, 9, 2, 9)]), api, counters
    )
    found = databases.compare_databases(ours, theirs)
    assert (found.rows, found.equal, found.differences) == (3, 3, ())
    later = write(tmp_path / "later", texts, ("TASK", TASK, [(NOW_NS, NOW_NS + 503, 0, 40, 5, 9, 2, 9)]), api, counters)
    found = databases.compare_databases(ours, later)
    assert (found.rows, found.equal) == (3, 2)
    assert [text.split(":")[0] for text in found.differences] == ["TASK", "TASK"]


def test_samples_may_be_as_far_off_as_floats_since_1970() -> None:
    rows = [(0, NOW_NS, 0, "read"), (0, NOW_NS + 20_000_000, 924_057_600, "read")]
    near = [(0, NOW_NS + 20_000_000 - 56, 924_060_000, "read")]
    assert databases.compare_tables("HBM", rows, near).same
    assert not databases.compare_tables("TASK", rows, near).same
    assert not databases.compare_tables("HBM", rows, [(0, NOW_NS + 20_000_000, 930_000_000, "read")]).same


def test_without_a_database_of_theirs_there_is_nothing_to_compare(tmp_path: Path) -> None:
    ours = write(tmp_path / "ours", ("STRING_IDS", "id, value", [(1, "a")]))
    (tmp_path / "theirs").mkdir()
    assert databases.compare_databases(ours, tmp_path / "theirs") is None
    assert databases.compare_databases(tmp_path / "theirs", ours).differences == ("only theirs",)


def test_what_the_native_path_cannot_hold_is_let_pass() -> None:
    disk = [(NOW_NS, 0, 0, None)]
    assert databases.compare_tables("HOST_DISK_USAGE", disk, [(NOW_NS, 0, 0, 0)]).same
    assert not databases.compare_tables("HOST_DISK_USAGE", disk, [(NOW_NS, 0, 0, 7)]).same
    rate = 43_546_000_000
    assert databases.compare_tables("PCIE", [(0, NOW_NS, rate)], [(0, NOW_NS, rate % 2**32)]).same
    assert not databases.compare_tables("HCCS", [(0, NOW_NS, rate)], [(0, NOW_NS, rate % 2**32)]).same
