"""``examples/mindspore/train_profiler.py`` with real MindSpore."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[3] / "examples" / "mindspore" / "train_profiler.py"


def test_the_callback_of_the_example_records_its_three_steps(scripts: Any) -> None:
    ended = scripts.simulated(EXAMPLE, "--output", "out")
    losses = [float(line.split()[-1]) for line in ended.stdout.splitlines() if ", loss is " in line]
    assert len(losses) == 6
    assert losses[-1] < losses[0]
    (run,) = ended.runs("out")
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    counts = Counter(row["Name"] for row in rows)
    forward = [
        count for name, count in counts.items() if "Default/network-WithLossCell" in name and "/MatMul-op" in name
    ]
    assert forward
    assert set(forward) == {3}
    assert {row["Type"] for row in rows} >= {"MatMulV2", "Relu", "SoftmaxCrossEntropyWithLogits"}
