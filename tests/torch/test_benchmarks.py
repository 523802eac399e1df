"""The stages that ``bench_capture.py`` times are the ones that a recording goes through."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.torch.conftest import FRESH

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SCRIPT = f"""
import sys
sys.path.insert(0, {str(BENCHMARKS)!r})
import bench_capture as bench
spent, operators = bench.defaultdict(float), []
step = bench.mlp()
step()
bench.record(step, spent, operators)
print(sum(operators) > 0, sorted(title for title, *_ in bench.STAGES if not spent[title]))
"""


def test_every_stage_of_a_recording_is_measured(scripts: Any) -> None:
    assert scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", **FRESH}).stdout.splitlines()[-1] == "True []"
