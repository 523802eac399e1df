"""The examples of pyACL, run as a user runs them."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples" / "acl"


@pytest.fixture
def run(programs, tmp_path):
    pytest.importorskip("onnx")

    def example(name, *arguments, **environment):
        environment = {"DRYNPU_QUIET": "1", **environment}
        return programs(EXAMPLES / name, *arguments, folder=tmp_path, environment=environment).stdout

    return example


def test_profile_inference(run, tmp_path):
    assert "2 runs, scores add up to 1.000" in run("profile_inference.py", "--runs", "2")
    folder = next(tmp_path.glob("acl_out/PROF_*/mindstudio_profiler_output"))

    def rows(stem):
        (found,) = folder.glob(f"{stem}_[0-9]*.csv")
        with found.open(newline="", encoding="utf-8") as file:
            return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file)]

    kernels = rows("op_summary")
    assert [row["OP Type"] for row in kernels] == ["MatMulV2", "Relu", "MatMulV2", "SoftmaxV2"] * 2
    assert [row["message"] for row in rows("msprof_tx") if row["event_type"] == "push/pop"] == [
        "inference 0",
        "inference 1",
    ]
    calls = {row["API Name"]: int(row["Count"]) for row in rows("api_statistic") if row["Level"] == "acl"}
    assert calls["aclmdlExecute"] == 2
    assert calls["aclrtMemcpy"] == 4
    # A run of the model is launched at once: the time that this CPU computed is not in it.
    starts = [float(row["Task Start Time(us)"]) for row in kernels[:4]]
    assert starts[-1] - starts[0] < 200


@pytest.mark.slow
def test_infer_session(run, tmp_path):
    said = run("infer_session.py", "--runs", "3", "--profiler")
    assert "3 runs, scores add up to 1.000" in said
    (path,) = tmp_path.glob("infer_out/PROF_*/mindstudio_profiler_output/op_summary_*.csv")
    with path.open(newline="", encoding="utf-8") as file:
        kernels_ms = sum(float(row["Task Duration(us)"]) for row in csv.DictReader(file)) / 1000
    (line,) = [line for line in said.splitlines() if line.startswith("NPU_compute_time")]
    # The host's launch and its wait come on top of the kernels.
    assert kernels_ms / 3 < float(line.split()[1]) < kernels_ms / 3 + 0.1


def test_subscribe_operators(run, tmp_path):
    lines = run("subscribe_operators.py", "--runs", "3").splitlines()
    assert [line.split()[:3] for line in lines] == [
        ["hidden/MatMul", "MatMulV2", "3"],
        ["hidden/Relu", "Relu", "3"],
        ["scores/MatMul", "MatMulV2", "3"],
        ["scores/Softmax", "SoftmaxV2", "3"],
    ]


@pytest.mark.slow
def test_a_record_group_of_a_plugin_leaves_its_files(run, tmp_path, third_party_group):
    run("profile_inference.py", "--runs", "2", PYTHONPATH=str(third_party_group))
    folder = next(tmp_path.glob("acl_out/PROF_*/mindstudio_profiler_output"))
    (path,) = folder.glob("launches_*.csv")
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == ["op_type,launches", "MatMulV2,4", "Relu,2", "SoftmaxV2,2"]
    assert "launches.csv:Launches by type." in (folder / "README.txt").read_text(encoding="utf-8")
