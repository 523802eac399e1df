"""The example of the core API, run as a user runs it: what it prints is there, and its options do what they say."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "core" / "neutral_session.py"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def test_the_full_set_of_deliverables(tmp_path: Path) -> None:
    options = {"training_trace": "on", "aicpu": "on", "l2": "on", "msproftx": "on", "task_memory": "on"}
    options |= {"sys_hardware_mem_freq": 50, "host_sys": "cpu,mem", "aic_metrics": "PipeUtilization"}
    done = run(tmp_path, "--chip", "910A", "--output", "out", "--options", json.dumps(options))
    assert done.returncode == 0, done.stderr
    first, *listed = [line for line in done.stdout.splitlines() if not line.startswith("note: ")]
    found = re.fullmatch(r"20 kernels on Ascend910A, simulated; (\d+) files in (out/PROF_\S+):", first)
    assert found
    prof = tmp_path / found[2]
    names = [line.strip() for line in listed]
    assert len(names) == int(found[1])
    assert all((prof / name).stat().st_size for name in names)
    stems = {re.sub(r"_\d{14}", "", Path(name).name) for name in names}
    assert {
        *(
            "op_summary.csv",
            "op_statistic.csv",
            "api_statistic.csv",
            "task_time.csv",
            "step_trace.csv",
            "fusion_op.csv",
        ),
        *("aicpu.csv", "dp.csv", "aicpu_mi.csv", "l2_cache.csv", "msprof_tx.csv", "hbm.csv", "host_cpu_usage.csv"),
        *("memory_record.csv", "operator_memory.csv", "static_op_mem.csv", "communication_statistic.csv"),
        *("msprof.json", "step_trace.json", "communication.json", "communication_matrix.json", "README.txt"),
        "msprof.db",
    } <= stems
    (summary,) = prof.glob("mindstudio_profiler_output/op_summary_*.csv")
    with summary.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    kernels = [row["Op Name"] for row in rows if row["Task Type"] != "COMMUNICATION"]
    assert kernels.count("aclnnMatmul_MatMulV2") == 2 * 4
    assert {row["Task Type"] for row in rows} == {"AI_CORE", "AI_CPU", "COMMUNICATION"}  # one kind of core there
    assert {row["Model ID"] for row in rows if row["Op Name"] in kernels} == {"1"}
    with closing(sqlite3.connect(next(prof.glob("msprof_*.db")))) as database:
        assert database.execute("select count(*) from COMPUTE_TASK_INFO").fetchone() == (len(kernels),)


@pytest.mark.slow
def test_options_as_pairs_and_their_refusal(tmp_path: Path) -> None:
    done = run(tmp_path, "--options", "task_time=l0", "dvpp_freq=50")
    assert done.returncode == 0, done.stderr
    assert "note: dvpp is not written: " in done.stdout
    assert "op_statistic" not in done.stdout
    assert list((tmp_path / "neutral_out").glob("PROF_*"))
    refused = run(tmp_path, "--output", "none", "--options", "task_tim=l0")
    assert refused.returncode == 2
    assert "task_tim: EK0001" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "none").exists()
