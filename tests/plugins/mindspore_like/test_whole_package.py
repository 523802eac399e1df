"""The names of mindspore_like in a script of a user's, and what they leave in its profile."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("whole_package.py")


@pytest.fixture(scope="module")
def run(without_mindspore: Any) -> Any:
    return without_mindspore(SCRIPT)


@pytest.fixture(scope="module")
def kernels(run: Any) -> list[dict[str, str]]:
    (found,) = run.runs()
    with (found / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_training_calls_its_callbacks(run: Any) -> None:
    assert run.printed("seen") == [[1, 0.0], [2, 1.0], ["stopped", True]]
    lines = run.stdout.splitlines()
    assert "epoch: 1 step: 2, loss is 1.0" in lines
    assert any(line.startswith("Train epoch time: ") for line in lines)


def test_the_context_keeps_what_it_is_told(run: Any) -> None:
    assert run.printed("context") == [True, 1]
    assert run.printed("device") == ["Ascend", 0]


def test_operators_are_kernels(kernels: list[dict[str, str]]) -> None:
    types = [row["Type"] for row in kernels]
    assert types.count("Relu") == types.count("MatMulV2") == types.count("ReduceMean") == 2
    named = {row["Type"]: row["Name"] for row in kernels}
    assert named["Exp"].startswith("Kernel::KernelLaunch::Default/network-Net/")
    assert named["Tanh"].endswith("Tanh/Tanh")
    products = [row["Input Shapes"].strip('"\t') for row in kernels if row["Type"] == "MatMulV2"]
    assert products == ["2,4;4,4"] * 2


def test_an_operator_that_the_script_times_itself_is_recorded_with_its_times(run: Any) -> None:
    (found,) = run.runs()
    events = json.loads((found / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(encoding="utf-8"))
    assert [event for event in events if event["name"].endswith("Cos")]


def test_streams_of_the_runtime_take_marks(run: Any) -> None:
    (found,) = run.runs()
    events = json.loads((found / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text(encoding="utf-8"))
    processes = {
        name: {event["pid"] for event in events if event["name"] == name} for name in ("on the host", "on a stream")
    }
    assert len(processes["on the host"]) == 1
    assert len(processes["on a stream"]) == 2, "and on the device"


def test_networks_need_mindspore(run: Any) -> None:
    assert "nn" in run.printed("nn")


OLD = """
import mindspore as ms
from mindspore.profiler import Profiler
profiler = Profiler(output_path="data", aicore_metrics=1)
ms.ops.relu(ms.Tensor([1.0]))
profiler.analyse()
"""


FROM_OUTSIDE = """
import mindspore_like as ms
ms.ops.relu(ms.Tensor([1.0]))
ms.EnvProfiler().analyse()
ms.ops.exp(ms.Tensor([1.0]))
"""


def test_the_environment_starts_a_profiler(without_mindspore: Any) -> None:
    options = json.dumps({"start": True, "output_path": "env", "profiler_level": "Level1"})
    done = without_mindspore(FROM_OUTSIDE, environment={"MS_PROFILER_OPTIONS": options})
    (found,) = done.runs("env")
    with (found / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        assert [row["Type"] for row in csv.DictReader(stream)] == ["Relu"]


def test_the_release_that_a_script_was_written_for_has_its_keywords(without_mindspore: Any) -> None:
    headers = {}
    for release in ("2.7", "2.3"):
        environment = {"DRYNPU_MINDSPORE_API": release}
        done = without_mindspore(OLD, under=("-m", "drynpu", "run"), environment=environment)
        (found,) = done.runs()
        headers[release] = (found / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text().splitlines()[0]
        assert ("aicore_metrics is taken as aic_metrics" in done.stderr) is (release == "2.7")
    assert "aiv_vec_ratio" in headers["2.3"]
    assert "aiv_vec_ratio" not in headers["2.7"]
