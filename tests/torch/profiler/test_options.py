"""Every option shows in the files exactly where it should (torch_npu_profiler.md 3.6 and 4)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import drynpu
import drynpu_torch

SCRIPT = """
import json
import sys

import torch
import torch_npu
from torch_npu import profiler


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(16, 32)
        self.second = torch.nn.Linear(32, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def train_one_step(net, optimizer):
    x = torch.ones(8, 16).to("npu:0")
    loss = net(x).square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


torch.manual_seed(0)
net = Net().to("npu:0")
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
train_one_step(net, optimizer)
for name, options in json.loads(sys.argv[1]).items():
    config = options.pop("config", {})
    if "activities" in options:
        options["activities"] = [getattr(profiler.ProfilerActivity, a) for a in options["activities"]]
    for key, kind in (("profiler_level", profiler.ProfilerLevel), ("aic_metrics", profiler.AiCMetrics)):
        if key in config:
            config[key] = getattr(kind, config[key])
    print("begin", name, flush=True)
    with profiler.profile(
        schedule=profiler.schedule(wait=0, warmup=1, active=2, repeat=1),
        on_trace_ready=profiler.tensorboard_trace_handler(name),
        experimental_config=profiler._ExperimentalConfig(**config),
        **options,
    ) as prof:
        for _ in range(3):
            train_one_step(net, optimizer)
            prof.step()
"""

CASES: dict[str, dict[str, Any]] = {
    "level0": {"config": {"profiler_level": "Level0"}},
    "level1": {"config": {"profiler_level": "Level1"}},
    "level2": {"config": {"profiler_level": "Level2"}},
    "none": {"config": {"profiler_level": "Level_none"}},
    "level1_no_counters": {"config": {"profiler_level": "Level1", "aic_metrics": "AiCoreNone"}},
    "level1_memory_counters": {"config": {"profiler_level": "Level1", "aic_metrics": "MemoryUB"}},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "stack": {"with_stack": True},
    "not_simplified": {"config": {"data_simplification": False}},
    "cpu": {"activities": ["CPU"], "profile_memory": True},
    "npu": {"activities": ["NPU"], "profile_memory": True},
    "later": {"config": {"l2_cache": True, "record_op_args": True}},
}

ALWAYS = {"analyse.done", "trace_view.json"}
DEVICE = {"kernel_details.csv", "step_trace_time.csv", "task_time.csv"}
STATISTICS = {"op_statistic.csv", "api_statistic.csv"}
MEMORY = {"operator_memory.csv", "memory_record.csv", "npu_module_mem.csv"}
OPERATORS = {"operator_details.csv"}
FILES = {
    "level0": ALWAYS | OPERATORS | DEVICE,
    "level1": ALWAYS | OPERATORS | DEVICE | STATISTICS,
    "level2": ALWAYS | OPERATORS | DEVICE | STATISTICS,
    "none": ALWAYS | OPERATORS,
    "level1_no_counters": ALWAYS | OPERATORS | DEVICE | STATISTICS,
    "level1_memory_counters": ALWAYS | OPERATORS | DEVICE | STATISTICS,
    "shapes": ALWAYS | OPERATORS | DEVICE,
    "memory": ALWAYS | OPERATORS | DEVICE | MEMORY,
    "stack": ALWAYS | OPERATORS | DEVICE,
    "not_simplified": ALWAYS | OPERATORS | DEVICE,
    "cpu": ALWAYS | OPERATORS | {"operator_memory.csv", "memory_record.csv"},
    "npu": ALWAYS | DEVICE | {"memory_record.csv", "npu_module_mem.csv"},
    "later": ALWAYS | OPERATORS | DEVICE | {"l2_cache.csv"},
}

LEVEL0_COLUMNS = [
    "Step Id",
    "Device_id",
    "Name",
    "Type",
    "Accelerator Core",
    "Start Time(us)",
    "Duration(us)",
    "Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
]
LEVEL1_COLUMNS = [
    "Step Id",
    "Device_id",
    "Model ID",
    "Task ID",
    "Stream ID",
    "Name",
    "Type",
    "OP State",
    "Accelerator Core",
    "Start Time(us)",
    "Duration(us)",
    "Wait Time(us)",
    "Block Num",
    "Mix Block Num",
    "HF32 Eligible",
    "Input Shapes",
    "Input Data Types",
    "Input Formats",
    "Output Shapes",
    "Output Data Types",
    "Output Formats",
    "Context ID",
]


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, json.dumps(CASES))


def said_for(run: Any, name: str) -> str:
    after = run.stdout.split(f"begin {name}\n", 1)[1]
    return str(after.split("\nbegin ", 1)[0])


@pytest.mark.parametrize("name", CASES)
def test_files(run: Any, name: str) -> None:
    output = run.output(name)
    assert output.files == FILES[name]
    assert (output.path / "FRAMEWORK").is_dir() == (name != "npu")
    assert bool(list(output.path.glob("PROF_*"))) == (name != "cpu")
    if name != "cpu":
        assert (output.prof / "mindstudio_profiler_output").is_dir() == (name == "not_simplified")


@pytest.mark.parametrize("name", [name for name in CASES if "kernel_details.csv" in FILES[name]])
def test_kernels_by_level(run: Any, name: str) -> None:
    output = run.output(name)
    columns, rows = output.columns("kernel_details.csv"), output.rows("kernel_details.csv")
    counters = [column for column in columns if column.startswith(("aic", "aiv", "cube"))]
    if name.startswith("level1") or name == "level2":
        assert columns[: len(LEVEL1_COLUMNS)] == LEVEL1_COLUMNS
        assert columns[len(LEVEL1_COLUMNS) :] == counters
        assert bool(counters) == (name in ("level1", "level1_memory_counters", "level2"))
        assert {"MatMulV2", "Relu"} <= {row["Type"] for row in rows}
        assert {"AI_CORE", "AI_VECTOR_CORE"} <= {row["Accelerator Core"] for row in rows}
        assert {'"8,16;32,16;32"', '"8,16;16,32;32"'} & {row["Input Shapes"] for row in rows}
    else:
        assert columns == [c for c in LEVEL0_COLUMNS if c != "Step Id" or name != "npu"]
        assert {row["Type"] for row in rows} == {row["Accelerator Core"] for row in rows} == {"N/A"}
        assert {row["Input Shapes"] for row in rows} == {"N/A"}
        assert any("Relu" in row["Name"] for row in rows)


def test_the_same_work_at_every_level(run: Any) -> None:
    names = {
        name: Counter(row["Name"] for row in run.output(name).rows("kernel_details.csv"))
        for name in CASES
        if "kernel_details.csv" in FILES[name]
    }
    assert len({tuple(sorted(counter.items())) for counter in names.values()}) == 1
    assert sum(names["level0"].values()) > 20


@pytest.mark.parametrize("name", CASES)
def test_layers_of_the_trace(run: Any, name: str) -> None:
    output = run.output(name)
    layers = set(output.layers)
    assert ("Python" in layers) == (name != "npu")
    assert ("CANN" in layers) == name.startswith(("level1", "level2"))
    # Level_none has no kernels, but its steps are marked on the stream.
    assert ("Ascend Hardware" in layers) == (name != "cpu")
    assert ("Overlap Analysis" in layers) == (name not in ("none", "cpu"))
    assert ("NPU MEM" in layers) == (name in ("memory", "npu"))
    categories = {event.get("cat") for event in output.trace}
    assert ("async_npu" in categories) == (name not in ("none", "cpu", "npu"))
    assert ("async_task_queue" in categories) == (name != "npu")
    assert ("HostToDevice" in categories) == (name not in ("none", "cpu"))


def test_level2_adds_runtime_calls(run: Any) -> None:
    one, two = (
        {(row["Level"], row["API Name"]) for row in run.output(name).rows("api_statistic.csv")}
        for name in ("level1", "level2")
    )
    assert one < two
    assert {level for level, _ in two - one} == {"runtime"}


@pytest.mark.parametrize("name", [name for name in CASES if "operator_details.csv" in FILES[name]])
def test_shapes_only_when_asked(run: Any, name: str) -> None:
    output = run.output(name)
    rows = [row for row in output.rows("operator_details.csv") if row["Name"] == "aten::addmm"]
    arguments = [e["args"] for e in output.operators() if e["name"] == "aten::addmm"]
    assert len(rows) == len(arguments) == 4
    if name == "shapes":
        assert rows[0]["Input Shapes"] == "32;\r\n8,16;\r\n16,32;\r\n;\r\n"
        assert arguments[0]["Input Dims"] == rows[0]["Input Shapes"]
        assert arguments[0]["Input type"] == "float;\r\nfloat;\r\nfloat;\r\nScalar;\r\nScalar"
    else:
        assert {row["Input Shapes"] for row in rows} == {""}
        assert not any("Input Dims" in a or "Input type" in a for a in arguments)


@pytest.mark.parametrize("name", [name for name in CASES if "operator_details.csv" in FILES[name]])
def test_stacks_only_when_asked(run: Any, name: str) -> None:
    output = run.output(name)
    row = next(row for row in output.rows("operator_details.csv") if row["Name"] == "aten::relu")
    event = next(e for e in output.operators() if e["name"] == "aten::relu")
    if name != "stack":
        assert row["Call Stack"] == ""
        assert "Call stack" not in event["args"]
        return
    assert event["args"]["Call stack"] == row["Call Stack"]
    frames = row["Call Stack"].split(";\r\n")
    script = run.folder / "script.py"
    functions = [frame.rsplit(": ", 1)[-1] for frame in frames if frame.startswith(str(script))]
    assert functions == ["forward", "train_one_step", "<module>"]  # innermost first
    assert frames[0].startswith("<built-in method relu")
    assert any(frame.startswith("/") and "torch/nn/modules/module.py(" in frame for frame in frames)
    stacks = {row["Call Stack"] for row in output.rows("operator_details.csv")}
    ours = [f"{Path(module.__file__).parent}/" for module in (drynpu, drynpu_torch)]
    assert not any(folder in stack for folder in ours for stack in stacks)
    optimizer = next(r for r in output.rows("operator_details.csv") if r["Name"].startswith("Optimizer.step#"))
    assert "train_one_step" in optimizer["Call Stack"]


def test_memory_rows_by_activity(run: Any) -> None:
    components = {
        name: {row["Component"] for row in run.output(name).rows("memory_record.csv")}
        for name in ("memory", "cpu", "npu")
    }
    assert components == {"memory": {"APP", "PTA", "PTA+GE"}, "cpu": {"PTA", "PTA+GE"}, "npu": {"APP"}}
    names = {row["Name"] for row in run.output("memory").rows("operator_memory.csv")}
    assert {"aten::addmm", "aten::relu"} <= names


def test_host_times_need_no_device(run: Any) -> None:
    rows = run.output("cpu").rows("operator_details.csv")
    assert {row["Device Self Duration(us)"] for row in rows} == {"0"}
    assert all(float(row["Host Total Duration(us)"]) > 0 for row in rows if row["Name"] == "aten::addmm")
    assert "CANN profiling data" not in said_for(run, "cpu")


def test_nothing_is_said_of_options_whose_files_are_left(run: Any) -> None:
    for name in ("level0", "level1", "level1_memory_counters", "shapes", "memory", "stack", "later"):
        assert "drynpu" not in said_for(run, name).split("Start parsing")[0]


def test_the_configuration_is_written_as_it_came_out(run: Any) -> None:
    none = run.output("none").document("profiler_info.json")["config"]["experimental_config"]
    assert (none["_profiler_level"], none["_aic_metrics"], none["_mstx"]) == ("Level_none", "ACL_AICORE_NONE", True)
    cpu = run.output("cpu").document("profiler_info.json")
    assert cpu["config"]["common_config"]["activities"] == ["ProfilerActivity.CPU"]
    assert "rank_id" not in cpu
