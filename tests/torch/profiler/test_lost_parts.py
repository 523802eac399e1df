"""Steps of a recording that raise: each costs what it gathers, one line names it, and the kernels are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

STEPS = {
    "drynpu_torch.device.npu:memory_allocated": "the memory that tensors held before",
    "drynpu_torch.capture._capture:CollectiveCapture.start": "collectives",
    "drynpu_torch.capture._capture:CollectiveCapture.stop": "collectives",
    "drynpu_torch.capture._capture:loaders_on_host": "what data loaders do on the host",
    "drynpu_torch.capture._capture:garbage_collections": "garbage collections",
    "drynpu_torch.capture._capture:collection_costs": "delays by garbage collections",
    "drynpu_torch.capture._capture:automatic_marks": "the marks of data loaders and checkpoints",
    "drynpu_torch.capture._capture:flop_ranges": "floating point operations (with_flops)",
    "drynpu_torch.capture._capture:OpenRanges.watched": "ranges across a cut",
    "drynpu_torch.capture._threads:RecordedThreads.watched": "work of other threads",
    "drynpu_torch.capture._capture:python_frames": "Python frames (with_stack, with_modules)",
    "drynpu_torch.capture._stacks:shown_stacks": "call stacks (with_stack)",
    "drynpu_torch.profiler._result:rendezvous": "the meeting with other ranks",
    "drynpu_torch.profiler._result:lone_notes": "notes on absent ranks",
    "drynpu_torch.profiler._interface:parallel_group_info": "parallel groups",
    "drynpu.recorder._recorder:HostSampler.start": "the metrics of the host",
    "drynpu.recorder._recorder:HostSampler.stop": "the metrics of the host",
    "drynpu_torch.distributed:Communication.collectives": "collectives",
    "__main__:Observer.start": "the trace of the execution_trace_observer",
    "__main__:Observer.stop": "the trace of the execution_trace_observer",
}
SCRIPT = """
import functools, importlib, sys
from unittest import mock

import torch
import torch_npu


class Observer:
    def start(self): ...
    def stop(self): ...
    def cleanup(self): ...


model, data = torch.nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()
model(data).sum().backward()


def record(folder, gc):
    config = torch_npu.profiler._ExperimentalConfig(
        profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
        mstx=True, host_sys=["cpu"], gc_detect_threshold=0.0 if gc else None,
    )
    handler = torch_npu.profiler.tensorboard_trace_handler(folder)
    with torch_npu.profiler.profile(
        on_trace_ready=handler, profile_memory=True, with_stack=True, with_modules=True, with_flops=True,
        record_shapes=True, experimental_config=config, execution_trace_observer=Observer(),
    ) as prof:
        for _ in range(2):
            model(data).sum().backward()
            prof.step()


def fail(*_, **__):
    raise ZeroDivisionError("for this test")


record("whole", False)
for number, step in enumerate(sys.argv[1:]):
    module_name, _, path = step.partition(":")
    *parents, name = path.split(".")
    owner = functools.reduce(getattr, parents, importlib.import_module(module_name))
    print(f"begin {step}")
    with mock.patch.object(owner, name, fail):
        record(str(number), name == "garbage_collections")
print("begin nothing")
"""


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, *STEPS)


def kernels(folder: Path) -> list[str]:
    (table,) = folder.glob("*/ASCEND_PROFILER_OUTPUT/kernel_details.csv")
    return [line.split(",")[0] for line in table.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_raises_costs_its_part_alone(run: Any, step: str) -> None:
    folder = run.folder / str(list(STEPS).index(step))
    line = f"{STEPS[step]} cannot be recorded, everything else is: ZeroDivisionError('for this test')"
    assert [text for _, text in run.section(step) if "cannot" in text] == [line]
    assert kernels(folder) == kernels(run.folder / "whole")
    (document,) = folder.glob("*/profiler_metadata.json")
    told = json.loads(document.read_text(encoding="utf-8"))["drynpu"]
    # What is lost after the simulation is no note of it.
    late = ("parallel_group_info", "rendezvous")
    assert line in json.dumps(told, ensure_ascii=False).replace('\\"', '"') or step.rpartition(":")[2] in late
