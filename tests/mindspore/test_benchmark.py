"""The benchmark of MindSpore runs: it uses names of MindSpore and of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "bench_mindspore.py"


@pytest.mark.parametrize("state", ["MindSpore's profiler", "drynpu, with_stack"])
def test_a_measurement_has_all_its_figures(scripts: Any, state: str) -> None:
    run = scripts.simulated if state.startswith("drynpu") else scripts
    done = run(BENCHMARK, "--work", "graph", state)
    (found,) = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"step_ms"')]
    assert set(found) == {"step_ms", "files_s", "written_mb"}
    assert min(found.values()) > 0
