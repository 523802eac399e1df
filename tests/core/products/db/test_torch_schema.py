"""Which tables torch's databases have, when, and how they are made; what a run is called in them."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import polars as pl
import pytest

from drynpu import OutputError
from drynpu.deliverables.registry import GROUPS
from drynpu.options import ExportType, Level
from drynpu.products import export_torch, requested_forms
from drynpu.products.toolkit._db import database_tables
from drynpu.products.torch import _db_export as _torch_export
from drynpu.tables import Profile

TABLES = database_tables(GROUPS)

Record = Callable[..., Profile]

# As in a capture of the genuine profiler (January 2025), without what a viewer added; StepTraceTime has deviceId since.
GENUINE = {
    "PYTORCH_API": "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, "
    "sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, "
    "type INTEGER",
    "CONNECTION_IDS": "id INTEGER, connectionId INTEGER",
    "PYTORCH_CALLCHAINS": "id INTEGER, stack INTEGER, stackDepth INTEGER",
    "MEMORY_RECORD": "component INTEGER, timestamp INTEGER, totalAllocated INTEGER, totalReserved INTEGER, "
    "totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "OP_MEMORY": "name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER, activeReleaseTime INTEGER, "
    "duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, "
    "allocationTotalActive INTEGER, releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, "
    "releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER",
    "STEP_TIME": "id INTEGER, startNs INTEGER, endNs INTEGER",
    "RANK_DEVICE_MAP": "rankId INTEGER, deviceId INTEGER",
    "HOST_INFO": "hostUid TEXT, hostName TEXT",
    "META_DATA": "name TEXT, value TEXT",
    "STRING_IDS": "id INTEGER, value TEXT",
    "ENUM_API_TYPE": "id INTEGER, name TEXT",
    "CANN_API": "startNs INTEGER, endNs INTEGER, type INTEGER, globalTid INTEGER, connectionId INTEGER, name INTEGER",
    "TASK": "startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER, globalTaskId INTEGER, "
    "globalPid INTEGER, taskType INTEGER, contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER",
    "TASK_PMU_INFO": "globalTaskId INTEGER, name INTEGER, value NUMERIC",
    "NPU_INFO": "id INTEGER, name TEXT",
}
GENUINE_ANALYSIS = {
    "CommAnalyzerBandwidth": "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, count NUMERIC, "
    "total_duration NUMERIC, step TEXT, type TEXT",
    "CommAnalyzerMatrix": "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, op_name TEXT",
    "CommAnalyzerTime": "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, step TEXT, type TEXT",
    "StepTraceTime": "deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, "
    "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC",
}


def export(profile: Profile, *forms: ExportType) -> dict[str, Path]:
    return {path.name: path for path in export_torch(profile, forms or (ExportType.DB,))}


def columns(path: Path, table: str, read: SimpleNamespace) -> str:
    return ", ".join(f"{row['name']} {row['type']}" for row in read.rows(path, f"PRAGMA table_info({table})"))


def with_steps(profile: Profile) -> Profile:
    marker = profile.host_ops.head(1).with_columns(
        name=profile.host_ops["name"].head(1).replace("In", "ProfilerStep#1"), end_ns=pl.lit(profile.end_ns)
    )
    stacked = profile.host_ops.tail(-1).with_columns(call_stack=profile.host_ops["name"].tail(-1))
    return attrs.evolve(profile, host_ops=marker.vstack(stacked))


def test_tables_are_those_of_a_genuine_capture(record: Record, read: SimpleNamespace) -> None:
    files = export(with_steps(record()))
    for name, table in (("ascend_pytorch_profiler.db", GENUINE), ("analysis.db", GENUINE_ANALYSIS)):
        assert {one: columns(files[name], one, read) for one in table} == table
    assert set(read.tables(files["analysis.db"])) == set(GENUINE_ANALYSIS)
    keys = read.tables(files["ascend_pytorch_profiler.db"])
    assert "id INTEGER PRIMARY KEY" in keys["STRING_IDS"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files.values()} == {0o640}


def test_the_toolkits_tables_are_all_there(both: Callable[..., SimpleNamespace], read: SimpleNamespace) -> None:
    made = both()
    database = export(made.profile)["ascend_pytorch_profiler.db"]
    for name in read.tables(made.db):
        if name in ("STRING_IDS", "RANK_DEVICE_MAP", "ENUM_API_TYPE", "META_DATA"):
            continue
        query = f"SELECT * FROM {name}"
        assert [tuple(row) for row in read.rows(database, query)] == [tuple(row) for row in read.rows(made.db, query)]
    own = [tuple(row) for row in read.rows(made.db, "SELECT * FROM STRING_IDS")]
    texts = [tuple(row) for row in read.rows(database, f"SELECT * FROM STRING_IDS WHERE id < {1 << 28}")]
    assert texts[: len(own)] == own


def test_forms(record: Record) -> None:
    profile = record()
    assert not [name for name in export(profile, ExportType.TEXT) if name.endswith(".db")]
    assert set(export(profile, ExportType.DB)) == {"ascend_pytorch_profiler.db", "analysis.db", "analyse.done"}
    assert {"trace_view.json", "analysis.db"} <= set(export(profile, ExportType.TEXT, ExportType.DB))


@pytest.mark.parametrize(
    ("info", "forms"),
    [
        ({}, ["text"]),
        ({"config": None}, ["text"]),
        ({"config": {"experimental_config": {"_export_type": "db"}}}, ["db"]),
        ({"config": {"experimental_config": {"_export_type": ["text", "db"]}}}, ["text", "db"]),
        ({"config": {"experimental_config": {"_export_type": ["xml"]}}}, ["text"]),
    ],
)
def test_what_the_recording_was_asked_for(record: Record, info: dict[str, Any], forms: list[str]) -> None:
    profile = attrs.evolve(record(), profiler_info=info)
    assert [form.value for form in requested_forms(profile)] == forms
    written = {path.name for path in export_torch(profile)}
    assert ("analysis.db" in written) == ("db" in forms)
    assert ("trace_view.json" in written) == ("text" in forms)


@pytest.mark.parametrize(("rank", "name"), [(0, "_0"), ("3", "_3"), (None, ""), (-1, "")])
def test_rank(record: Record, read: SimpleNamespace, rank: object, name: str) -> None:
    info = {} if rank is None else {"rank_id": rank}
    files = export(attrs.evolve(record(device_id=2), profiler_info=info))
    path = files[f"ascend_pytorch_profiler{name}.db"]
    (row,) = read.rows(path, "SELECT * FROM RANK_DEVICE_MAP")
    assert tuple(row) == (int(name[1:] or -1), 2)


def test_several_devices(record: Record, read: SimpleNamespace) -> None:
    files = export(attrs.evolve(record(), device_ids=(0, 1)))
    (row,) = read.rows(files["ascend_pytorch_profiler.db"], "SELECT * FROM RANK_DEVICE_MAP")
    assert tuple(row) == (-1, -1)


def test_metadata(record: Record, read: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HCCL_ALGO", "level0:ring")
    noted = {"parallel_group_info": {"dp": {"global_ranks": [0]}}, "trace_id": "é"}
    query = "SELECT name, value FROM META_DATA ORDER BY rowid"

    def metadata(profile: Profile) -> list[tuple[str, str]]:
        return [tuple(row) for row in read.rows(export(profile)["ascend_pytorch_profiler.db"], query)]

    rows = metadata(attrs.evolve(record(), metadata=noted))
    names = ["", "_MAJOR", "_MINOR", "_MICRO"]
    assert [name for name, _ in rows] == [*(f"SCHEMA_VERSION{part}" for part in names), "ENV_VARIABLES", *noted]
    assert rows[0][1] == "1.2.0"
    assert {name: json.loads(value) for name, value in rows[5:]} == noted
    environment = json.loads(rows[4][1])
    assert len(environment) == 9
    assert environment["HCCL_ALGO"] == "level0:ring", "of the analysis, where the recording noted nothing"
    recorded = {"ENV_VARIABLES": {"HCCL_ALGO": "was"}}
    twice = metadata(attrs.evolve(record(name="other"), metadata=recorded))
    assert [json.loads(value) for name, value in twice if name == "ENV_VARIABLES"] == [{"HCCL_ALGO": "was"}] * 2


def test_level0(record: Record, read: SimpleNamespace) -> None:
    files = export(record(level=Level.L0))
    assert set(read.tables(files["analysis.db"])) == {"StepTraceTime"}
    tables = set(read.tables(files["ascend_pytorch_profiler.db"]))
    assert "TASK_PMU_INFO" not in tables
    assert {"PYTORCH_API", "TASK", "COMMUNICATION_OP"} <= tables


def test_level_none_has_no_steps(record: Record, read: SimpleNamespace) -> None:
    files = export(attrs.evolve(with_steps(record()), level="off"))
    assert set(files) == {"ascend_pytorch_profiler.db", "analyse.done"}
    assert "STEP_TIME" not in read.tables(files["ascend_pytorch_profiler.db"])


def test_without_communication_there_are_step_times_alone(record: Record, read: SimpleNamespace) -> None:
    files = export(record(collectives=()))
    assert set(read.tables(files["analysis.db"])) == {"StepTraceTime"}


def test_host_data_alone(record: Record, read: SimpleNamespace) -> None:
    profile = with_steps(record())
    device = ("api", "tasks", "kernels", "communication_ops", "queue")
    emptied = {name: getattr(profile, name).clear() for name in device}
    host = attrs.evolve(profile, prof_path=None, level="", device_ids=(), group_tables={}, **emptied)
    files = export(host)
    assert set(files) == {"ascend_pytorch_profiler.db", "analyse.done"}
    path = files["ascend_pytorch_profiler.db"]
    tables = read.tables(path)
    assert not [sql for sql in tables.values() if "PRIMARY KEY" in sql]
    assert set(tables) - set(TABLES) == {"PYTORCH_API", "PYTORCH_CALLCHAINS", "MEMORY_RECORD", "OP_MEMORY"}
    assert set(tables) & set(TABLES) == {"STRING_IDS", "RANK_DEVICE_MAP", "HOST_INFO", "META_DATA", "ENUM_API_TYPE"}
    assert len(read.rows(path, "SELECT * FROM ENUM_API_TYPE")) == 4
    assert tuple(read.rows(path, "SELECT * FROM RANK_DEVICE_MAP")[0]) == (-1, -1)
    assert read.rows(path, "SELECT * FROM HOST_INFO")[0]["hostName"]


def test_a_failing_export_keeps_the_earlier_output(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = record()
    before = {name: path.read_bytes() for name, path in export(profile).items()}

    def fail(*_: object) -> object:
        raise OutputError("no space")

    monkeypatch.setattr(_torch_export, "step_rows", fail)
    with pytest.raises(OutputError, match="no space"):
        export(profile)
    directory = profile.path / "ASCEND_PROFILER_OUTPUT"
    assert {path.name: path.read_bytes() for path in directory.iterdir()} == before
