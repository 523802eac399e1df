"""The summary names each file that the options ask for and that is missing, with the reason, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import sys
import torch, torch_npu
from torch_npu import profiler as p

options = eval(sys.argv[1])
work = eval(sys.argv[2])
config = p._ExperimentalConfig(**options.pop("config", {}))
with p.profile(experimental_config=config, on_trace_ready=p.tensorboard_trace_handler("out"), **options) as prof:
    work()
"""
TRAINING = "lambda: [torch.mm(torch.ones(64, 64).npu(), torch.ones(64, 64).npu()).sum() for _ in range(3)]"
LEVEL1 = "'profiler_level': p.ProfilerLevel.Level1"


def missing(scripts: Callable[..., Any], options: str, work: str = TRAINING) -> dict[str, str]:
    """Return what the summary says is missing: file -> reason."""
    run = scripts(SCRIPT, options, work, environment={"COLUMNS": "200"})
    lines = (line.strip() for line in run.stdout.splitlines())
    return dict(line.split(" is missing: ", 1) for line in lines if " is missing: " in line)


def test_nothing_is_said_where_nothing_is_missing(scripts: Callable[..., Any]) -> None:
    assert missing(scripts, "{}") == {}
    assert missing(scripts, f"{{'config': {{{LEVEL1}}}, 'profile_memory': True, 'with_stack': True}}") == {}


def test_each_missing_file_has_its_reason(scripts: Callable[..., Any]) -> None:
    options = "{'config': {'profiler_level': p.ProfilerLevel.Level2, 'l2_cache': True}}"
    assert missing(scripts, options) == {
        "soc_pmu.csv": "only a real device leaves it: translation buffers and page sizes are not simulated",
        "data_preprocess.csv": "no operator ran on the AI CPU while it was recorded",
    }


def test_a_recording_of_which_nothing_ran_on_the_device(scripts: Callable[..., Any]) -> None:
    found = missing(scripts, "{'profile_memory': True}", "lambda: torch.ones(4) + 1")
    kernels = {"kernel_details.csv", "task_time.csv", "step_trace_time.csv"}
    assert {
        name for name, reason in found.items() if reason == "no kernel was launched while it was recorded"
    } == kernels
    assert found["operator_memory.csv"] == "no tensor was allocated on the npu while it was recorded"
