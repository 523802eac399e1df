"""The examples of ``examples/mindspore`` that need real MindSpore."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples" / "mindspore"


def rows(run: Path, name: str) -> list[dict[str, str]]:
    with (run / "ASCEND_PROFILER_OUTPUT" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def forward_launches(run: Path) -> set[int]:
    """Return how often each product of the forward pass was launched."""
    counts = Counter(row["Name"] for row in rows(run, "kernel_details.csv"))
    return {count for name, count in counts.items() if "Default/network-WithLossCell" in name and "/MatMul-op" in name}


def test_the_callback_of_the_example_records_its_three_steps(scripts: Any) -> None:
    ended = scripts.simulated(EXAMPLES / "train_profiler.py", "--output", "out")
    losses = [float(line.split()[-1]) for line in ended.stdout.splitlines() if ", loss is " in line]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    (run,) = ended.runs("out")
    assert forward_launches(run) == {3}
    types = {row["Type"] for row in rows(run, "kernel_details.csv")}
    assert types >= {"MatMulV2", "Relu", "SoftmaxCrossEntropyWithLogits"}


def test_by_epochs_it_records_one_of_three(scripts: Any) -> None:
    ended = scripts.simulated(EXAMPLES / "train_profiler.py", "--by", "epoch", "--steps", "5", "--output", "out")
    # As on a device an epoch that sinks its data is one step to callbacks.
    assert ended.stdout.count(", loss is ") == 3
    (run,) = ended.runs("out")
    assert forward_launches(run) == {5}


def test_the_schedule_of_the_other_example_leaves_two_cycles(scripts: Any) -> None:
    ended = scripts.simulated(EXAMPLES / "train_schedule.py", "--output", "out")
    assert ended.stdout.count(" loss ") == 8
    first, second = ended.runs("out")
    for run, steps in ((first, {"2", "3"}), (second, {"6", "7"})):
        assert {row["Step"] for row in rows(run, "step_trace_time.csv")} == steps
        kernels = rows(run, "kernel_details.csv")
        assert Counter(row["Type"] for row in kernels)["Conv2D"] == 2
        assert all("N/A" not in row["Input Shapes"] for row in kernels if row["Type"] == "Conv2D")
        names = {file.name for file in (run / "ASCEND_PROFILER_OUTPUT").iterdir()}
        assert names >= {"trace_view.json", "dataset.csv", "operator_details.csv", "ascend_mindspore_profiler_0.db"}
        events = json.loads((run / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
        calls = [event["name"] for event in events if event.get("cat") == "python_function"]
        assert any(name.startswith("train_schedule.py(") and name.endswith(":<lambda>") for name in calls)
        assert sum(event["name"] == "training" and event["ph"] == "X" for event in events) >= 2
