"""Four ranks that were simulated one by one, opened together by the vendor's cluster analysis."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from drynpu.kernels import Allocations, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock, ExportType, Level, ProfilingRequest
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_torch, load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Collective, Destination, Recording

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

BEGIN_NS = 1_736_408_883_000_000_000
PID = 4321
RANKS = (0, 1, 2, 3)
STEPS = 2
TENSOR = TensorDesc((1 << 20,), "FLOAT")


def plan(signature: Signature) -> KernelPlan:
    spec = KernelSpec(
        name="aclnnAdd_AddAiCore_Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=signature.tensors(),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        bytes_read=TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
    )
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


def operators() -> Operators:
    rows = []
    for step in range(STEPS):
        start = BEGIN_NS + 1_000_000 * (1 + 2 * step)
        rows.append((1 + step, start, start + 1_900_000, -1))
        rows.append((0, start + 100_000, start + 120_000, 0))
        rows.append((0, start + 600_000, start + 620_000, 0))
    name, start, end, signature = np.array(rows, np.int64).T
    return Operators(
        names=("aten::add", *(f"ProfilerStep#{step}" for step in range(STEPS))),
        name=name.astype(np.int32),
        start_ns=start,
        end_ns=end,
        thread=np.full(len(rows), PID),
        fwd_thread=np.zeros(len(rows), np.int64),
        sequence=np.full(len(rows), -1),
        scope=np.zeros(len(rows), np.uint8),
        signature=signature.astype(np.int32),
        signatures=(Signature("aten::add", (TENSOR, TENSOR)),),
        texts=(("float;float", "1048576;1048576"),),
    )


def collectives(rank: int) -> tuple[Collective, ...]:
    """Return, per step, an allReduce of all for which rank 3 comes last, and a message within each pair."""
    pair = (rank & ~1, rank | 1)
    common: dict[str, Any] = {"thread": PID, "rank": rank, "dtype": "FLOAT", "count": 1 << 20, "size_bytes": 1 << 22}
    found = []
    for step in range(STEPS):
        start = BEGIN_NS + 1_000_000 * (1 + 2 * step)
        late = 10_000 * (3 - rank)
        found.append(
            Collective(kind="allReduce", start_ns=start + 300_000, group="dp", ranks=RANKS, wait_ns=late, **common)
        )
        kind = "receive" if rank % 2 else "send"
        group = f"pp{pair[0]}"
        found.append(Collective(kind=kind, start_ns=start + 700_000, group=group, ranks=pair, peer=rank ^ 1, **common))
    return tuple(found)


def record(directory: Path, rank: int) -> None:
    directory.mkdir(parents=True)
    write_recording(
        Recording(
            operators=operators(),
            allocations=Allocations(
                time_ns=np.empty(0, np.int64),
                thread=np.empty(0, np.int64),
                address=np.empty(0, np.uint64),
                size_bytes=np.empty(0, np.int64),
            ),
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 6_000_000,
            collectives=collectives(rank),
        ),
        Destination(directory=directory, framework="torch", pid=PID + rank, device_id=rank, rank_id=rank),
        Setup(
            request=ProfilingRequest(level=Level.L1),
            chip=load_chip("Ascend910B2"),
            clock=Clock.PROJECTED,
            seed=0,
            anchors=ClockAnchors(
                collection_begin_us=BEGIN_NS // 1000,
                monotonic_raw_ns=5_000_000_000,
                host_cntvct=5_000_000_000,
                device_cntvct=250_000_000,
                device_hz=50_000_000,
            ),
            plan=plan,
        ),
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four directories as torch's profiler leaves them, with the toolkit's own files below."""
    folder = tmp_path_factory.mktemp("run")
    for rank in RANKS:
        directory = folder / f"host_{PID + rank}_{20260101000000000 + rank}_ascend_pt"
        record(directory, rank)
        (directory / f"profiler_info_{rank}.json").write_text(json.dumps({"rank_id": rank}))
        groups = {"dp": {"group_name": "dp", "global_ranks": list(RANKS)}}
        (directory / "profiler_metadata.json").write_text(json.dumps({"parallel_group_info": groups}))
        profile = load_profile(directory)
        export_torch(profile)
        export_msprof(profile)
    return folder


def analysed(msprof_analyze: Tool, source: Path, out: Path) -> Path:
    done = msprof_analyze("cluster", "-m", "all", "-d", source, "-o", out)
    assert "[ERROR]" not in done.stdout, done.stdout
    assert "cannot be mapped" not in done.stdout, done.stdout
    assert "get the same local rank" not in done.stdout, done.stdout
    return out / "cluster_analysis_output"


def check(folder: Path, step: str) -> None:
    groups = json.loads((folder / "communication_group.json").read_text())
    assert groups["collective"] == [[0, 1, 2, 3]]
    assert sorted(map(sorted, groups["p2p"])) == [[0, 1], [2, 3]]
    named = {entry["group_id"]: entry["rank_set"] for entry in groups["comm_group_parallel_info"]}
    assert named.get("dp", [0, 1, 2, 3]) == [0, 1, 2, 3]
    times = json.loads((folder / "cluster_communication.json").read_text())
    of_all = times["(0, 1, 2, 3)"][step]
    reduces = {key: value for key, value in of_all.items() if key.startswith("hcom_allReduce")}
    for ranks in reduces.values():
        assert sorted(ranks) == ["0", "1", "2", "3"]
        waits = [ranks[str(rank)]["Communication Time Info"]["Synchronization Time(ms)"] for rank in RANKS]
        assert waits == pytest.approx([0.03, 0.02, 0.01, 0.0], abs=2e-4)
    matrix = json.loads((folder / "cluster_communication_matrix.json").read_text())
    total = matrix["(0, 1, 2, 3)"][step]
    links = next(value for key, value in total.items() if key.startswith("allreduce-total"))
    assert sorted(links) == sorted(f"{one}-{two}" for one in RANKS for two in RANKS)
    with (folder / "cluster_step_trace_time.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["Type"] == "rank"]
    assert {row["Index"] for row in rows} == {"0", "1", "2", "3"}
    assert all(float(row["Communication"]) > 0 for row in rows)


def test_the_cluster_analysis_opens_torch_directories(msprof_analyze: Tool, run: Path, tmp_path: Path) -> None:
    folder = analysed(msprof_analyze, run, tmp_path / "out")
    check(folder, "step0")
    groups = json.loads((folder / "communication_group.json").read_text())
    assert "dp" in {entry["group_id"] for entry in groups["comm_group_parallel_info"]}


def test_the_cluster_analysis_opens_toolkit_directories(msprof_analyze: Tool, run: Path, tmp_path: Path) -> None:
    source = tmp_path / "toolkit"
    source.mkdir()
    for directory in run.glob("*_ascend_pt/PROF_*"):
        shutil.copytree(directory, source / directory.name)
    check(analysed(msprof_analyze, source, tmp_path / "out"), "step")


def test_the_cluster_analysis_says_of_databases_what_it_says_of_texts(
    msprof_analyze: Tool, run: Path, tmp_path: Path
) -> None:
    source = tmp_path / "databases"
    shutil.copytree(run, source)
    for directory in source.iterdir():
        export_torch(load_profile(directory), [ExportType.DB])
    folder = analysed(msprof_analyze, source, tmp_path / "out")
    of_texts = analysed(msprof_analyze, run, tmp_path / "texts")
    with closing(sqlite3.connect(folder / "cluster_analysis.db")) as connection:
        connection.row_factory = sqlite3.Row

        def rows(table: str) -> list[dict[str, Any]]:
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]

        times, links, steps = (
            rows(name) for name in ("ClusterCommunicationTime", "ClusterCommunicationMatrix", "ClusterStepTraceTime")
        )
        assert {row["rankId"]: row["deviceId"] for row in rows("RankDeviceMap")} == {rank: rank for rank in RANKS}
        sets = {row["rank_set"] for row in rows("CommunicationGroupMapping")}
        assert sets == {"(0,1,2,3)", "(0,1)", "(2,3)"}
    document = json.loads((of_texts / "cluster_communication.json").read_text())["(0, 1, 2, 3)"]
    for step in ("step0", "step1"):
        reduces = {key: ranks for key, ranks in document[step].items() if key.startswith("hcom_allReduce")}
        wanted = {
            int(rank): [
                entry["Communication Time Info"][f"{title} Time(ms)"] for title in ("Elapse", "Synchronization")
            ]
            for ranks in reduces.values()
            for rank, entry in ranks.items()
        }
        found = {
            row["rank_id"]: [row["elapsed_time"], row["synchronization_time"]]
            for row in times
            if row["step"] == step and row["hccl_op_name"].startswith("hcom_allReduce")
        }
        assert found.keys() == wanted.keys() == set(RANKS)
        for rank, numbers in wanted.items():
            assert found[rank] == pytest.approx(numbers, abs=1e-6)
    assert {(row["src_rank"], row["dst_rank"]) for row in links} >= {(one, two) for one in RANKS for two in RANKS}
    with (of_texts / "cluster_step_trace_time.csv").open() as file:
        shown = {(row["Step"], row["Index"]): row for row in csv.DictReader(file) if row["Type"] == "rank"}
    counted = {(row["step"], row["index"]): row for row in steps if row["type"] == "rank"}
    assert counted.keys() == shown.keys()
    for key, row in counted.items():
        assert row["computing"] == pytest.approx(float(shown[key]["Computing"]))
        assert row["communication"] == pytest.approx(float(shown[key]["Communication"]))
