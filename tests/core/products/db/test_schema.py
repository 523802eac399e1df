"""Tables, keys, indexes and enumerations of the database; what refers to something refers to something there."""

from __future__ import annotations

import stat
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from drynpu import OutputError
from drynpu.deliverables.registry import GROUPS
from drynpu.options import Level, Switches
from drynpu.products import export_msprof_db
from drynpu.products.toolkit import _db as _export
from drynpu.products.toolkit._db import database_tables
from drynpu.tables import Profile

TABLES = database_tables(GROUPS)

NOW = datetime(2026, 1, 31, 23, 59, 58)
Both = Callable[..., SimpleNamespace]
Record = Callable[..., Profile]

ALWAYS = {
    "STRING_IDS",
    "NPU_INFO",
    "RANK_DEVICE_MAP",
    "HOST_INFO",
    "META_DATA",
    "ENUM_API_TYPE",
    "ENUM_HCCL_DATA_TYPE",
    "ENUM_HCCL_LINK_TYPE",
    "ENUM_HCCL_RDMA_TYPE",
    "ENUM_HCCL_TRANSPORT_TYPE",
    "ENUM_MEMCPY_OPERATION",
    "ENUM_MODULE",
    "ENUM_MSTX_EVENT_TYPE",
    "ENUM_OVERLAP_ANALYSIS_TYPE",
}
STATEMENTS = {
    "STRING_IDS": "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT)",
    "SESSION_TIME_INFO": "CREATE TABLE SESSION_TIME_INFO (startTimeNs INTEGER,endTimeNs INTEGER)",
    "HOST_INFO": "CREATE TABLE HOST_INFO (hostUid TEXT,hostName TEXT)",
    "TASK": "CREATE TABLE TASK (startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,"
    "globalTaskId INTEGER,globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,"
    "modelId INTEGER)",
    "COMPUTE_TASK_INFO": "CREATE TABLE COMPUTE_TASK_INFO (name INTEGER,globalTaskId INTEGER PRIMARY KEY,"
    "blockNum INTEGER,mixBlockNum INTEGER,taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,"
    "inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,attrInfo INTEGER,"
    "opState INTEGER,hf32Eligible INTEGER,gridDim INTEGER,blockDim INTEGER)",
    "COMMUNICATION_OP": "CREATE TABLE COMMUNICATION_OP (opName INTEGER,startNs INTEGER,endNs INTEGER,"
    "connectionId INTEGER,groupName INTEGER,opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,"
    "algType INTEGER,count NUMERIC,opType INTEGER,deviceId INTEGER,rankSize INTEGER)",
    "COMMUNICATION_TASK_INFO": "CREATE TABLE COMMUNICATION_TASK_INFO (name INTEGER,globalTaskId INTEGER,"
    "taskType INTEGER,planeId INTEGER,groupName INTEGER,notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,"
    "dstRank INTEGER,transportType INTEGER,size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER,"
    "isMaster INTEGER,bandwidth NUMERIC)",
    "CANN_API": "CREATE TABLE CANN_API (startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
    "connectionId INTEGER PRIMARY KEY,name INTEGER)",
    "NPU_MEM": "CREATE TABLE NPU_MEM (type INTEGER,ddr NUMERIC,hbm NUMERIC,timestampNs INTEGER,deviceId INTEGER)",
    "HBM": "CREATE TABLE HBM (deviceId INTEGER,timestampNs INTEGER,bandwidth NUMERIC,hbmId INTEGER,type INTEGER)",
    "LLC": "CREATE TABLE LLC (deviceId INTEGER,llcId INTEGER,timestampNs INTEGER,hitRate REAL,throughput INTEGER,"
    "mode INTEGER)",
    "AICORE_FREQ": "CREATE TABLE AICORE_FREQ (deviceId INTEGER,timestampNs NUMERIC,freq INTEGER,dieId NUMERIC)",
    "TASK_PMU_INFO": "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER,name INTEGER,value NUMERIC)",
    "MSTX_EVENTS": "CREATE TABLE MSTX_EVENTS (startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,"
    "category INTEGER,message INTEGER,globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,connectionId INTEGER)",
    "MEMCPY_INFO": "CREATE TABLE MEMCPY_INFO (globalTaskId NUMERIC,size NUMERIC,memcpyOperation NUMERIC)",
    "OVERLAP_ANALYSIS": "CREATE TABLE OVERLAP_ANALYSIS (id INTEGER PRIMARY KEY,deviceId INTEGER,startNs NUMERIC,"
    "endNs NUMERIC,type INTEGER)",
    "META_DATA": "CREATE TABLE META_DATA (name TEXT,value TEXT)",
}
TEXTS = {
    "TASK": ("taskType",),
    "COMPUTE_TASK_INFO": (
        *("name", "taskType", "opType", "inputFormats", "inputDataTypes", "inputShapes", "outputFormats"),
        *("outputDataTypes", "outputShapes", "attrInfo", "opState", "hf32Eligible", "gridDim", "blockDim"),
    ),
    "COMMUNICATION_OP": ("opName", "groupName", "algType", "opType"),
    "COMMUNICATION_TASK_INFO": ("name", "taskType", "groupName"),
    "CANN_API": ("name",),
    "NPU_MEM": ("type",),
    "TASK_PMU_INFO": ("name",),
    "MSTX_EVENTS": ("message", "domainId"),
    "HBM": ("type",),
    "LLC": ("mode",),
}
ENUMS = {
    "COMMUNICATION_OP": {"dataType": "ENUM_HCCL_DATA_TYPE"},
    "COMMUNICATION_TASK_INFO": {
        "dataType": "ENUM_HCCL_DATA_TYPE",
        "linkType": "ENUM_HCCL_LINK_TYPE",
        "transportType": "ENUM_HCCL_TRANSPORT_TYPE",
        "rdmaType": "ENUM_HCCL_RDMA_TYPE",
    },
    "CANN_API": {"type": "ENUM_API_TYPE"},
    "MEMCPY_INFO": {"memcpyOperation": "ENUM_MEMCPY_OPERATION"},
    "MSTX_EVENTS": {"eventType": "ENUM_MSTX_EVENT_TYPE"},
    "OVERLAP_ANALYSIS": {"type": "ENUM_OVERLAP_ANALYSIS_TYPE"},
    "NPU_MODULE_MEM": {"moduleId": "ENUM_MODULE"},
}


def write(profile: Profile, out_dir: Path | None = None) -> Path:
    path = export_msprof_db(profile, out_dir, NOW)
    assert path is not None
    return path


def test_tables_and_their_columns(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    found = read.tables(toolkit_made.db)
    assert {name: found[name] for name in STATEMENTS} == STATEMENTS
    assert set(found) >= ALWAYS
    assert {"NPU_MODULE_MEM", "NIC", "ROCE", "PCIE", "HCCS"} <= set(found)


def test_indexes(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    rows = read.rows(toolkit_made.db, "SELECT name, sql FROM sqlite_master WHERE type = 'index'")
    assert {row["name"]: row["sql"] for row in rows} == {
        "TaskIndex": "CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)",
        "CommunicationTaskIndex": "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)",
    }


def test_a_table_has_rows(record: Record, read: SimpleNamespace) -> None:
    path = write(record(collectives=(), switches=Switches()))
    found = read.tables(path)
    assert not {"COMMUNICATION_OP", "COMMUNICATION_TASK_INFO", "MSTX_EVENTS", "NPU_OP_MEM", "QOS", "UB"} & set(found)
    for name in found:
        assert read.rows(path, f"SELECT COUNT(*) FROM {name}")[0][0] > 0, name


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        (
            "ENUM_API_TYPE",
            [(5000, "runtime"), (5500, "communication"), (10000, "node"), (15000, "model"), (20000, "acl")],
        ),
        (
            "ENUM_HCCL_DATA_TYPE",
            [
                *((0, "INT8"), (1, "INT16"), (2, "INT32"), (3, "FP16"), (4, "FP32"), (5, "INT64"), (6, "UINT64")),
                *((7, "UINT8"), (8, "UINT16"), (9, "UINT32"), (10, "FP64"), (11, "BFP16"), (12, "INT128")),
                *((14, "HIF8"), (15, "FP8E4M3"), (16, "FP8E5M2"), (17, "FP8E8M0")),
                *((255, "RESERVED"), (65534, "N/A"), (65535, "INVALID_TYPE")),
            ],
        ),
        (
            "ENUM_MEMCPY_OPERATION",
            [
                *((0, "host to host"), (1, "host to device"), (2, "device to host"), (3, "device to device")),
                *((4, "managed memory"), (5, "addr device to device"), (6, "host to device ex")),
                *((7, "device to host ex"), (65535, "other")),
            ],
        ),
        (
            "ENUM_OVERLAP_ANALYSIS_TYPE",
            [(0, "COMPUTE"), (1, "COMMUNICATION"), (2, "COMM_NOT_OVERLAP_COMP"), (3, "FREE"), (65535, "RESERVE")],
        ),
        ("ENUM_MSTX_EVENT_TYPE", [(0, "marker"), (1, "push/pop"), (2, "start/end"), (3, "marker_ex")]),
    ],
)
def test_enumerations(
    toolkit_made: SimpleNamespace, read: SimpleNamespace, name: str, rows: list[tuple[int, str]]
) -> None:
    assert [tuple(row) for row in read.rows(toolkit_made.db, f"SELECT * FROM {name} ORDER BY id")] == rows


def test_modules(toolkit_made: SimpleNamespace, read: SimpleNamespace) -> None:
    rows = dict(read.rows(toolkit_made.db, "SELECT id, name FROM ENUM_MODULE"))
    wanted = {0: "SLOG", 3: "HCCL", 7: "RUNTIME", 10: "DRV", 22: "DEVMM", 33: "APP", 36: "AICPU", 45: "GE"}
    wanted |= {48: "ASCENDCL", 57: "TBE", 62: "FFTS", 68: "TPRT", 76: "MBUFF", 77: "CUSTOM"}
    assert rows.items() >= wanted.items()
    assert not {21, 26, 46, 59} & set(rows)


def test_the_run(record: Record, read: SimpleNamespace) -> None:
    profile = record(device_id=3)
    path = write(profile)

    def table(name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in read.rows(path, f"SELECT * FROM {name}")]

    assert table("NPU_INFO") == [(3, "Ascend910B")]
    assert table("RANK_DEVICE_MAP") == [(-1, 3)]
    assert table("HOST_INFO") == [("0", profile.hostname)]
    assert table("SESSION_TIME_INFO") == [(profile.begin_ns, profile.end_ns)]
    assert dict(table("META_DATA")) == {
        "SCHEMA_VERSION": "1.2.0",
        "SCHEMA_VERSION_MAJOR": "1",
        "SCHEMA_VERSION_MINOR": "2",
        "SCHEMA_VERSION_MICRO": "0",
    }


def test_a_killed_run_has_no_end(record: Record, read: SimpleNamespace) -> None:
    path = write(attrs.evolve(record(), end_ns=0))
    assert read.rows(path, "SELECT endTimeNs FROM SESSION_TIME_INFO")[0][0] is None


def test_a_run_without_devices(record: Record, read: SimpleNamespace) -> None:
    profile = record()
    device = ("tasks", "kernels", "communication_ops")
    emptied = {name: getattr(profile, name).clear() for name in device}
    path = write(attrs.evolve(profile, device_ids=(), group_tables={}, **emptied))
    assert tuple(read.rows(path, "SELECT * FROM NPU_INFO")[0]) == (-1, "UNKNOWN")
    assert tuple(read.rows(path, "SELECT * FROM RANK_DEVICE_MAP")[0]) == (-1, -1)
    assert set(read.tables(path)) == ALWAYS | {"CANN_API", "SESSION_TIME_INFO"}


@pytest.mark.parametrize("level", [Level.L0, Level.L1, Level.L2])
def test_every_number_stands_for_something(record: Record, read: SimpleNamespace, level: Level) -> None:
    path = write(record(level=level))
    found = read.tables(path)
    for table, columns in TEXTS.items():
        for column in columns:
            if table in found:
                unknown = f"SELECT {column} FROM {table} WHERE {column} NOT IN (SELECT id FROM STRING_IDS)"
                assert not read.rows(path, unknown), (table, column)
                assert not read.rows(path, f"SELECT 1 FROM {table} WHERE {column} IS NULL"), (table, column)
    for table, by_column in ENUMS.items():
        for column, enum in by_column.items():
            if table in found:
                assert not read.rows(
                    path, f"SELECT {column} FROM {table} WHERE {column} NOT IN (SELECT id FROM {enum})"
                )
    values = [row[0] for row in read.rows(path, "SELECT value FROM STRING_IDS")]
    assert len(values) == len(set(values))
    # The domain of a plain mark is the only text without characters.
    for table, column in ((table, column) for table, columns in TEXTS.items() for column in columns if table in found):
        nothing = f"SELECT 1 FROM {table} t JOIN STRING_IDS s ON s.id = t.{column} WHERE s.value = ''"
        assert not read.rows(path, nothing) or (table, column) == ("MSTX_EVENTS", "domainId")
    # Every text is one that something refers to.
    assert [row[0] for row in read.rows(path, "SELECT id FROM STRING_IDS ORDER BY id")] == list(range(len(values)))


@pytest.mark.parametrize("level", [Level.L0, Level.L1])
def test_joins(record: Record, read: SimpleNamespace, level: Level) -> None:
    path = write(record(level=level))
    found = read.tables(path)
    assert ("TASK_PMU_INFO" in found) == ("COMMUNICATION_TASK_INFO" in found) == (level is not Level.L0)
    assert not read.rows(path, "SELECT globalTaskId FROM TASK GROUP BY globalTaskId HAVING COUNT(*) > 1")
    for table in ("COMPUTE_TASK_INFO", "COMMUNICATION_TASK_INFO", "MEMCPY_INFO", "TASK_PMU_INFO"):
        if table in found:
            outside = f"SELECT 1 FROM {table} WHERE globalTaskId NOT IN (SELECT globalTaskId FROM TASK)"
            assert not read.rows(path, outside), table
    launched = (
        "SELECT t.globalTaskId, a.startNs <= t.startNs AS before, a.type FROM TASK t JOIN COMPUTE_TASK_INFO USING "
        "(globalTaskId) LEFT JOIN CANN_API a ON a.connectionId = t.connectionId"
    )
    rows = read.rows(path, launched)
    assert len(rows) == 6
    assert all(row["before"] and row["type"] == 10000 for row in rows)
    calls = "SELECT a.type FROM COMMUNICATION_OP o LEFT JOIN CANN_API a USING (connectionId)"
    assert [row["type"] for row in read.rows(path, calls)] == [10000] * 3


def test_file(record: Record, tmp_path: Path) -> None:
    profile = record()
    assert profile.prof_path is not None
    first, second = write(profile), write(profile)
    assert first == profile.prof_path / "msprof_20260131235958.db"
    assert second == profile.prof_path / "msprof_20260131235959.db"
    assert stat.S_IMODE(first.stat().st_mode) == 0o640
    assert first.read_bytes() == second.read_bytes()
    elsewhere = tmp_path / "some" / "where"
    assert write(profile, elsewhere).parent == elsewhere
    assert [path.name for path in elsewhere.iterdir()] == ["msprof_20260131235958.db"]


def test_nowhere_to_write(record: Record) -> None:
    profile = attrs.evolve(record(), prof_path=None)
    with pytest.raises(OutputError, match="holds no PROF directory, so there is nowhere to write a database"):
        export_msprof_db(profile)


def test_nothing_to_write(record: Record, tmp_path: Path) -> None:
    profile = record()
    frames = ("api", "tasks", "kernels", "communication_ops")
    emptied = {name: getattr(profile, name).clear() for name in frames}
    nothing = attrs.evolve(profile, group_tables={}, **emptied)
    assert export_msprof_db(nothing, tmp_path / "none") is None
    assert not (tmp_path / "none").exists()


def test_a_failing_export_leaves_nothing(record: Record, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    profile = record()
    monkeypatch.setattr(_export, "iter_db_rows", lambda groups, profile: iter([("CANN_API", twice(profile))]))
    with pytest.raises(OutputError, match=r"msprof_\d+\.db: cannot be written: UNIQUE constraint failed"):
        export_msprof_db(profile, tmp_path / "out", NOW)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_place_that_is_no_directory(record: Record, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file"):
        export_msprof_db(record(), tmp_path / "file", NOW)


def twice(profile: Profile) -> Any:
    """Calls whose connection ids, which are the key, occur twice."""
    columns = TABLES["CANN_API"].columns
    rows = profile.api.rename({"start_ns": "startNs", "end_ns": "endNs", "connection_id": "connectionId"})
    rows = rows.with_columns(type=20000, globalTid=1).select(list(columns))
    return rows.vstack(rows)
