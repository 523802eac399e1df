"""``bench_tf.py`` runs, and the stages that it times are the ones that a recording goes through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPT = f"""
import json, sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import bench_tf as bench
found = {{state: [bench.measure("session", "cnn", state, 2)] for state in bench.STATES}}
for results in found.values():
    results[0]["written_mb"] = 1.0
bench.report("mlp by session", found)
by_function = bench.measure("function", "mlp", "drynpu, recording", 2)
idle = bench.measure("function", "mlp", "drynpu, not profiling", 2)
stages = [result["stages"] for result in (found["drynpu, recording"][0], by_function)]
print("idle=" + json.dumps([title for own in stages for title in own if not own[title]]))
print("files=" + json.dumps([result["files_s"] > 0.01 for result in (*found["drynpu, recording"], by_function)]))
"""


def test_every_state_and_every_stage_is_measured(scripts: Any) -> None:
    run = scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})
    # A session has no tracer, a function no step stats.
    assert run.printed("idle") == ["tracer stop and reading", "tables of runs", "reading of session runs"]
    assert run.printed("files") == [True, True]
    assert len(run.profs(".")) == 2
    assert run.stdout.count(" ms ") == 5
    assert "end to files, drynpu" in run.stdout
