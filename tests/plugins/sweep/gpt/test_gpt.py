"""``drynpu sweep`` of the GPT with parallel sizes: measures of cells that run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

GPT = Path(__file__).parents[4] / "examples" / "torch" / "train_gpt_parallel.py"


def test_a_table_of_tensor_parallel_sizes(scripts: Any) -> None:
    program = (sys.executable, "-m", "drynpu", "sweep", "--world", "8", "--no-compute", "--json", "--grid", "tp=1,2")
    run = scripts(GPT, "--", "--width", "512", "--tokens", "256", "--bf16", program=program)
    one, two = json.loads(run.stdout)["cells"]
    for cell in (one, two):
        assert cell["error"] == ""
        assert cell["low_ms"] < cell["step_ms"] < cell["high_ms"]
        parts = cell["computing_ms"] + cell["exposed_ms"] + cell["free_ms"]
        assert abs(cell["step_ms"] - parts) < 1e-6 * parts
    # Half the weights of the layers on each rank, and two sums more in each layer, forward and backward.
    assert two["peak_gib"] < one["peak_gib"]
    assert two["communication_ms"] > 0
