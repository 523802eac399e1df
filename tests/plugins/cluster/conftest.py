"""A cluster written by hand: three ranks, one group of all, a message from 0 to 1, rank 2 slow, one link slow."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

GROUP, PAIR = "777", "888"
HEAD = "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Preparing"


def operator(start_us: float, elapse: float, transit: float, wait: float, size: float) -> dict[str, Any]:
    times = {"Elapse Time(ms)": elapse, "Transit Time(ms)": transit, "Wait Time(ms)": wait}
    times |= {"Synchronization Time(ms)": wait / 2, "Idle Time(ms)": 0.0}
    moved = {"Transit Size(MB)": size, "Transit Time(ms)": transit, "Size Distribution": {"1.0": [int(size), transit]}}
    return {
        "Communication Time Info": {"Start Timestamp(us)": start_us, **times, "Wait Time Ratio": 0.5},
        "Communication Bandwidth Info": {"HCCS": moved},
    }


def link(transport: str, size: float, time_ms: float) -> dict[str, Any]:
    return {"Transport Type": transport, "Transit Size(MB)": size, "Transit Time(ms)": time_ms, "Op Name": "hcom"}


def directory_of(run: Path, rank: int) -> Path:
    directory = run / f"host_{100 + rank}_2026010100000000{rank}_ascend_pt"
    (directory / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (directory / f"profiler_info_{rank}.json").write_text("{}")
    groups = {"g": {"group_name": "dp", "global_ranks": [0, 1, 2]}}
    (directory / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
    return directory


def links_of(rank: int) -> dict[str, Any]:
    """Return the links of a rank in the group of all: 0 to 1 has a fifth of the rate of the others."""
    links = {f"{rank}-{rank}": link("LOCAL", 1.0, 0.1)}
    for other in {0, 1, 2} - {rank}:
        links[f"{rank}-{other}"] = link("HCCS", 10.0, 5.0 if (rank, other) == (0, 1) else 1.0)
    return links


@pytest.fixture
def text_run(tmp_path: Path) -> Path:
    run = tmp_path / "texts"
    for rank in range(3):
        output = directory_of(run, rank) / "ASCEND_PROFILER_OUTPUT"
        computing = 300.0 if rank == 2 else 100.0
        (output / "step_trace_time.csv").write_text(f"{HEAD}\n{rank},7,{computing},50.0,5.0,55.0,20.0,170.0,0.0,none\n")
        collective = {
            f"hcom_allReduce__777_{number}_1@{GROUP}": operator(1000.0 + number, 2.0, 1.5, 0.5 * (2 - rank), 3.0)
            for number in range(2)
        }
        p2p = {} if rank == 2 else {f"hcom_send__888_0_1@{PAIR}": operator(4000.0, 1.0, 1.0, 0.0, 4.0)}
        document = {"step7": {"collective": {**collective, "Total Op Info": operator(0, 9, 9, 9, 9)}, "p2p": p2p}}
        (output / "communication.json").write_text(json.dumps(document))
        entries = {f"allreduce-{kind}@{GROUP}": links_of(rank) for kind in ("top1", "total")}
        (output / "communication_matrix.json").write_text(json.dumps({"step7": {"collective": entries, "p2p": {}}}))
    return run


def fill(path: Path, table: str, columns: str, rows: list[tuple[object, ...]]) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"CREATE TABLE {table} ({columns})")
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * len(rows[0]))})", rows)
        connection.commit()


@pytest.fixture
def db_run(tmp_path: Path) -> Path:
    run = tmp_path / "databases"
    for rank in range(3):
        output = directory_of(run, rank) / "ASCEND_PROFILER_OUTPUT"
        analysis, profiler = output / "analysis.db", output / f"ascend_pytorch_profiler_{rank}.db"
        steps = "deviceId, step TEXT, computing, communication_not_overlapped, overlapped, communication, free, stage, "
        steps += "bubble, communication_not_overlapped_and_exclude_receive, preparing"
        computing = 300.0 if rank == 2 else 100.0
        fill(analysis, "StepTraceTime", steps, [(rank, "7", computing, 50.0, 5.0, 55.0, 20.0, 170.0, 0.0, 50.0, 0.0)])
        times = "hccl_op_name, group_name TEXT, start_timestamp, elapse_time, transit_time, wait_time, "
        times += "synchronization_time, idle_time, step TEXT, type TEXT"
        wait = 0.5 * (2 - rank)
        rows = [
            (f"hcom_allReduce__777_{number}_1", GROUP, 1000.0, 2.0, 1.5, wait, wait / 2, 0.0, "step7", "collective")
            for number in range(2)
        ]
        fill(analysis, "CommAnalyzerTime", times, rows)
        rates = "hccl_op_name, group_name TEXT, transport_type, transit_size, transit_time, bandwidth, "
        rates += "large_packet_ratio, package_size, count, total_duration, step TEXT, type TEXT"
        moved = [
            (name, GROUP, "HCCS", 3.0, 1.5, 2.0, 0, package, 2, 0.75, "step7", "collective")
            for name, *_ in rows
            for package in (1.0, 0.5)
        ]
        fill(analysis, "CommAnalyzerBandwidth", rates, moved)
        matrix = "hccl_op_name, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type, transit_size, "
        matrix += "transit_time, bandwidth, step TEXT, type TEXT, op_name"
        links = [
            (f"allreduce-{kind}", GROUP, *key.split("-"), *list(info.values())[:3], 0.0, "step7", "collective", "hcom")
            for kind in ("top1", "total")
            for key, info in links_of(rank).items()
        ]
        fill(analysis, "CommAnalyzerMatrix", matrix, links)
        fill(profiler, "HOST_INFO", "hostUid, hostName", [("h1", "host")])
        fill(profiler, "RANK_DEVICE_MAP", "rankId, deviceId", [(rank, rank)])
        named = json.dumps({"777": {"group_name": "dp", "global_ranks": [0, 1, 2]}})
        fill(profiler, "META_DATA", "name, value", [("parallel_group_info", named)])
    return run
