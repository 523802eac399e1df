"""The database of a simulated run, opened by recipes of the vendor's cluster analysis."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.by_hand import BEGIN_NS, PID, call_table, setup

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu.products import export_msprof_db, load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, Recording
from drynpu.tables import Profile

pytestmark = pytest.mark.slow

Tool = Callable[..., "subprocess.CompletedProcess[str]"]

TENSOR = TensorDesc((1 << 20,), "FLOAT")
COUNT = 5


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


def record(directory: Path) -> Profile:
    start = BEGIN_NS + 1_000_000 * (1 + np.arange(COUNT))
    directory.mkdir()
    write_recording(
        Recording(
            operators=call_table(
                ("aten::add",),
                0,
                start,
                start + 20_000,
                (Signature("aten::add", (TENSOR, TENSOR)),),
                texts=(("float;float", "1048576;1048576"),),
            ),
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 10_000_000,
            collectives=(
                Collective(
                    kind="allReduce",
                    start_ns=BEGIN_NS + 2_500_000,
                    thread=PID,
                    group="dp",
                    ranks=(0, 1, 2, 3),
                    rank=0,
                    size_bytes=1 << 20,
                    dtype="FLOAT16",
                    count=1 << 19,
                ),
            ),
        ),
        Destination(directory=directory, framework="torch", pid=PID, device_id=0, rank_id=0),
        setup(plan),
    )
    return load_profile(directory)


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    return record(tmp_path_factory.mktemp("made") / "run_ascend_pt")


@pytest.fixture(scope="module")
def run(profile: Profile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in which the tool looks for databases: one rank with the file under the name of torch."""
    folder = tmp_path_factory.mktemp("run")
    output = folder / f"host_{PID}_20260101000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    database = export_msprof_db(profile)
    assert database is not None
    shutil.copy(database, output / "ascend_pytorch_profiler_0.db")
    return folder


def result(msprof_analyze: Tool, recipe: str, run: Path, out: Path, query: str) -> list[dict[str, Any]]:
    done = msprof_analyze("cluster", "-m", recipe, "-d", run, "-o", out)
    assert "[ERROR]" not in done.stdout, done.stdout
    with closing(sqlite3.connect(out / "cluster_analysis_output" / "cluster_analysis.db")) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def test_calls(msprof_analyze: Tool, profile: Profile, run: Path, tmp_path: Path) -> None:
    rows = result(msprof_analyze, "cann_api_sum", run, tmp_path, "SELECT * FROM CannApiSum")
    found = {row["name"]: (row["totalCount"], row["totalTimeNs"]) for row in rows}
    # A call of the communication layer goes by its operator (cann_msprof.md 4.5), not by its part, master or slave.
    shown = pl.when(pl.col("level") == "communication").then(pl.col("item")).otherwise(pl.col("name"))
    api = profile.api.with_columns(shown.cast(pl.String).alias("name"))
    wanted = {
        name: (len(calls), int((calls["end_ns"] - calls["start_ns"]).sum())) for (name,), calls in api.group_by("name")
    }
    assert found == wanted


def test_kernels(msprof_analyze: Tool, profile: Profile, run: Path, tmp_path: Path) -> None:
    rows = result(msprof_analyze, "compute_op_sum", run, tmp_path, "SELECT * FROM ComputeOpAllRankStats")
    (row,) = rows
    assert (row["OpType"], row["TaskType"], row["Count"]) == ("Add", "AI_VECTOR_CORE", COUNT)
    assert row["SumNs"] == profile.kernels["duration_ns"].sum()


def test_collectives(msprof_analyze: Tool, profile: Profile, run: Path, tmp_path: Path) -> None:
    rows = result(msprof_analyze, "hccl_sum", run, tmp_path, "SELECT * FROM HcclAllRankStats")
    (row,) = rows
    assert (row["OpType"], row["Count"]) == ("hcom_allReduce_", 1)
    assert row["SumNs"] == profile.communication_ops["duration_ns"].sum()
