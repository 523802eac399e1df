"""The benchmarks of PyTorch run, and ``bench_capture.py`` times the stages that a recording goes through."""

from __future__ import annotations

from typing import Any

import pytest
from tests.scripts import FRESH
from tests.tiny_benchmarks import BENCHMARKS, run_tiny

pytestmark = pytest.mark.slow

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
MODEL = {"--tp": 2, "--pp": 2, "--width": 32, "--heads": 2, "--layers": 2, "--words": 64, "--tokens": 16, "--batch": 1}


def test_every_stage_of_a_recording_is_measured(scripts: Any) -> None:
    assert scripts(SCRIPT, environment={"DRYNPU_QUIET": "1", **FRESH}).stdout.splitlines()[-1] == "True []"


@pytest.mark.parametrize(
    ("script", "arguments", "constants", "begins"),
    [
        (
            "bench_capture.py",
            [1],
            {"RECORDED": 2},
            ["MLP, SGD:", "  step, plain ", "  all of it ", "GPT of the example"],
        ),
        (
            "bench_device.py",
            [1],
            {},
            ["torch.add of 8 elements", "  ratio ", "small convolutional", "GPT of the example"],
        ),
        (
            "bench_profiler.py",
            ["--with", "stack", 1],
            {"MODELS": ("mlp",)},
            ["mlp: ", "  step, plain torch", "  step, drynpu recording"],
        ),
        ("bench_recorder.py", [1], {"MANY_OPERATORS": 300}, ["memory of an operator", "small convolutional", "GPT of"]),
        ("bench_step.py", [1], {"STEPS": 20, "CALLS": 20}, ["prof.step() while waiting", "torch.add, profiler record"]),
        ("bench_world.py", [], {"WORLD": 8, "RANK": 1, "MODEL": MODEL}, ["rank 1 of 8: ", "time ", "memory "]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_benchmark_prints_its_rows(
    script: str, arguments: list[object], constants: dict[str, Any], begins: list[str]
) -> None:
    lines = run_tiny(script, *arguments, **constants)
    for begin in begins:
        assert [line for line in lines if line.startswith(begin)], "\n".join(lines)
