"""Databases of a run: text and db of one recording say the same, and each form can be had alone (3.6, 4.16)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import torch
import torch_npu
from torch_npu import profiler

net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).to("npu:0")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train_one_step():
    loss = net(torch.ones(8, 16).to("npu:0")).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def record(name, **config):
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(name),
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
        experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1, **config),
    ) as prof:
        for _ in range(3):
            train_one_step()
            prof.step()
    return prof


both = [profiler.ExportType.Text, profiler.ExportType.Db]
record("both", export_type=both)
print("begin db", flush=True)
prof = record("db", export_type=profiler.ExportType.Db)
import pathlib
print("files", *sorted(path.name for path in pathlib.Path(prof.prof_if.prof_path, "ASCEND_PROFILER_OUTPUT").iterdir()))
print("begin trace", flush=True)
prof.export_chrome_trace("trace.json")
print("begin end", flush=True)
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", "RANK": "0"})


def rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute(query).fetchall()


def text(column: str) -> str:
    return f"(SELECT value FROM STRING_IDS WHERE id = {column})"


def test_files(run: Any) -> None:
    databases = {"ascend_pytorch_profiler_0.db", "analysis.db", "analyse.done"}
    assert databases | {"trace_view.json", "kernel_details.csv", "operator_memory.csv"} <= run.output("both").files
    (alone,) = (line.split()[1:] for line in run.stdout.splitlines() if line.startswith("files "))
    assert set(alone) == databases
    info = run.output("db").document("profiler_info_0.json")["config"]["experimental_config"]
    assert info["_export_type"] == ["db"]
    assert "ENV_VARIABLES" in run.output("both").document("profiler_metadata.json")
    assert "ENV_VARIABLES" not in run.output("db").document("profiler_metadata.json")
    assert run.section("db") == []


def test_the_trace_is_written_all_the_same(run: Any) -> None:
    ((severity, message),) = run.section("trace")
    assert severity == "WARNING"
    assert message == (
        "The setting of type in experimental_config as db will be ignored while set "
        "export_chrome_trace or export_stacks"
    )
    assert (run.folder / "trace.json").stat().st_size > 1000
    assert {"ascend_pytorch_profiler_0.db", "analysis.db"} <= run.output("db").files


def test_text_and_database_agree(run: Any, ns: Any) -> None:
    output = run.output("both")
    path = output.folder / "ascend_pytorch_profiler_0.db"
    kernels = rows(
        path,
        f"SELECT {text('k.name')}, startNs, endNs - startNs FROM COMPUTE_TASK_INFO k JOIN TASK USING (globalTaskId) "
        "ORDER BY startNs",
    )
    details = output.rows("kernel_details.csv")
    assert kernels == [(row["Name"], ns(row["Start Time(us)"]), ns(row["Duration(us)"])) for row in details]
    calls = rows(path, f"SELECT {text('name')}, startNs, callchainId IS NULL FROM PYTORCH_API WHERE type = 50001")
    shown = [(event["name"], str(ns(event["ts"])), "Call stack" not in event["args"]) for event in output.operators()]
    assert [(name, start, bool(none)) for name, start, none in calls] == shown
    memory = rows(path, f"SELECT {text('name')}, allocationTime, size FROM OP_MEMORY")
    assert memory == [
        (row["Name"], ns(row["Allocation Time(us)"]), round(float(row["Size(KB)"]) * 1024))
        for row in output.rows("operator_memory.csv")
    ]
    steps = rows(path, "SELECT 'ProfilerStep#' || id, startNs, endNs - startNs FROM STEP_TIME")
    markers = [event for event in output.operators() if event["name"].startswith("ProfilerStep#")]
    assert steps == [(event["name"], ns(event["ts"]), ns(str(event["dur"]))) for event in markers]
    assert len(steps) == 2
    times = rows(output.folder / "analysis.db", "SELECT step, computing, preparing FROM StepTraceTime")
    csv = output.rows("step_trace_time.csv")
    assert times == [(row["Step"], float(row["Computing"]), float(row["Preparing"])) for row in csv]


def test_the_database_alone_is_as_full(run: Any) -> None:
    counts = []
    for name in ("both", "db"):
        path = run.output(name).folder / "ascend_pytorch_profiler_0.db"
        tables = [table for (table,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        stable = ("CONNECTION_IDS", "COMPUTE_TASK_INFO", "CANN_API", "OP_MEMORY", "STEP_TIME")
        # Operators alone: the Python frames of the first recording hold what is imported and set up once.
        numbers = [rows(path, "SELECT COUNT(*) FROM PYTORCH_API WHERE type = 50001")]
        counts.append((sorted(tables), numbers + [rows(path, f"SELECT COUNT(*) FROM {table}") for table in stable]))
    assert counts[0] == counts[1]
