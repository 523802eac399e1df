"""``drynpu msprof`` with a training script that knows nothing of profiling."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

STEPS = 3
SCRIPT = f"""
import sys, torch, torch_npu
model = torch.nn.Linear(8, 4).npu()
for _ in range({STEPS}):
    model(torch.ones(2, 8).npu()).sum().backward()
print("arguments", *sys.argv[1:])
sys.exit(int(sys.argv[1]))
"""
SELF_PROFILING = """
import torch, torch_npu
model = torch.nn.Linear(8, 4).npu()
with torch_npu.profiler.profile():
    model(torch.ones(2, 8).npu())
print("went on")
"""


def msprof(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
    return subprocess.run(
        [sys.executable, "-m", "drynpu", "msprof", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


def directories(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith("PROF_"))


def test_a_plain_script_is_recorded_exported_and_listed(tmp_path: Path) -> None:
    script(tmp_path, SCRIPT)
    done = msprof(tmp_path, f"--output={tmp_path / 'out'}", "--l2=on", "python", "train.py", "0", "--epochs=2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (prof,) = directories(tmp_path / "out")
    assert lines[:2] == ["[INFO] Start profiling....", "arguments 0 --epochs=2"]
    assert lines[-2:] == [
        "[INFO] Profiling finished.",
        f"[INFO] Process profiling data complete. Data is saved in {prof}.",
    ]
    assert any(line.startswith("NA") and "device_0" in line for line in lines)
    (summary,) = (prof / "mindstudio_profiler_output").glob("op_summary_*.csv")
    with summary.open(encoding="utf-8", newline="") as stream:
        kinds = Counter(row["OP Type"] for row in csv.DictReader(stream))
    assert kinds["MatMulV3"] + kinds["MatMulV2"] + kinds["MatMul"] >= STEPS, kinds
    sample = json.loads((prof / "host" / "sample.json").read_text())
    assert sample["prof_level"] == "level1"
    assert not list((tmp_path / "out").glob("*_ascend_pt"))
    assert not list((tmp_path / "out").glob("FRAMEWORK"))


def test_options_reach_the_recording_and_a_failing_script_is_told(tmp_path: Path) -> None:
    path = script(tmp_path, SCRIPT)
    done = msprof(tmp_path, f"--output={tmp_path}", "--task-time=l0", f"--application=python {path} 5")
    assert done.returncode == 0, done.stderr
    assert "An exception has occurred in process App, return code: 5." in done.stderr
    (prof,) = directories(tmp_path)
    assert len(list(prof.glob("msprof_*.db"))) == 1
    assert json.loads((prof / "host" / "sample.json").read_text())["prof_level"] == "level0"
    assert not list((prof / "mindstudio_profiler_output").glob("op_statistic_*.csv"))


def test_a_script_that_profiles_itself_goes_on_without(tmp_path: Path) -> None:
    script(tmp_path, SELF_PROFILING)
    done = msprof(tmp_path, f"--output={tmp_path / 'out'}", "train.py")
    assert done.returncode == 0, done.stderr
    assert "went on" in done.stdout
    assert len(directories(tmp_path / "out")) == 1
