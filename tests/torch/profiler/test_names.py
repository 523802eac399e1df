"""Names of the coverage table that no other test has a script for, used as a script uses them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json
import os
import shutil

import torch
import torch_npu
from torch.profiler import ExecutionTraceObserver
from torch_npu import profiler
from torch_npu.profiler import ProfilerAction, ProfilerActivity, profile, schedule, tensorboard_trace_handler


def told(name, *values):
    print("told", name, json.dumps(values), flush=True)


def section(name):
    print("begin", name, flush=True)


layer = torch.nn.Linear(8, 4).npu()
quiet = dict(aic_metrics=profiler.AiCMetrics.AiCoreNone)


def train():
    layer(torch.ones(2, 8, device="npu")).sum().backward()


train()
plan = schedule(wait=2, active=2, warmup=1, repeat=2, skip_first=1, skip_first_wait=1)
told("schedule", plan.wait, plan.active, plan.warmup, plan.repeat, plan.skip_first, plan.skip_first_wait)
told("actions", [plan(step).name for step in range(9)], plan.__call__(9).name)

config = profiler._ExperimentalConfig(
    profiler_level=profiler.ProfilerLevel.Level1, l2_cache=True, mstx=True, data_simplification=False,
    gc_detect_threshold=0.5, export_type=["text"], host_sys=[profiler.HostSystem.CPU], mstx_domain_include=["data"],
    sys_io=True, sys_interconnection=True, **quiet,
)
told("private", config._profiler_level, config._aic_metrics, config._l2_cache, config._msprof_tx, config._mstx,
     config._data_simplification, config.record_op_args, config._export_type, config._host_sys, config._op_attr,
     config._gc_detect_threshold, config._mstx_domain_include, config._mstx_domain_exclude, config._sys_io,
     config._sys_interconnection)
told("config", config.export_type, config.with_gc, config.gc_detect_threshold, config.tx_enabled, callable(config))
other = profiler._ExperimentalConfig(**quiet)
told("default config", other.export_type, other.with_gc, other.gc_detect_threshold, other.tx_enabled)

section("object")
observer = ExecutionTraceObserver().register_callback("execution_trace.json")
handler = tensorboard_trace_handler(dir_name="object", worker_name="bench", analyse_flag=False, async_mode=False)
plan = schedule(wait=0, active=1, warmup=1, repeat=2)
prof = profile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], schedule=plan, on_trace_ready=handler,
    experimental_config=other, execution_trace_observer=observer, custom_trace_id_callback=lambda: "run-1",
)
told("before", prof.schedule is plan, prof.record_steps, prof.step_num, prof.current_action.name, prof.stopped,
     prof.on_trace_ready is handler, prof.execution_trace_observer is observer, prof.metadata)
told("absent", [name for name in ("key_averages", "events", "toggle_collection_dynamic", "preset_metadata_json")
                if hasattr(prof, name)])
told("entered", prof.__enter__() is prof)
ids = []
for step in range(4):
    if step == 1:
        prof.set_custom_trace_id_callback(lambda: "run-2")
    prof.add_metadata("step", str(step))
    train()
    prof.step()
    ids.append(prof.get_trace_id())
told("metadata", prof.metadata)
prof.__exit__(None, None, None)
told("after", ids, prof.step_num, prof.current_action.name, prof.stopped)
told("no schedule", profile(experimental_config=other).record_steps)

section("controlled")
prof = profile(on_trace_ready=tensorboard_trace_handler("controlled"), experimental_config=other)
controller = prof.action_controller
told("controller", controller.prof is prof, controller.prof_inst is prof.prof_if, controller.on_trace_ready is not None)
controller.transit_action(ProfilerAction.NONE, ProfilerAction.RECORD)
train()
controller.transit_action(ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
train()
controller.transit_action(ProfilerAction.RECORD_AND_SAVE, ProfilerAction.NONE)

section("kineto")
prof = profiler._KinetoProfile(
    activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], record_shapes=True, profile_memory=True, with_stack=True,
    with_flops=True, with_modules=True, custom_trace_id_callback=lambda: "kineto-1",
    experimental_config=profiler._ExperimentalConfig(mstx=True, **quiet),
)
prof.add_metadata("kind", "by hand")
prof.add_metadata_json("numbers", "[1, 2]")
told("kineto", hasattr(prof, "step"), prof.metadata)
prof.start()
train()
torch.mm(torch.ones(4, 8, device="npu"), torch.ones(8, 16, device="npu"))
prof.stop()
shutil.copytree("export_only_prof_dir", "kineto_raw")
prof.export_chrome_trace("kineto/trace.json")
prof.export_stacks("kineto/cpu.log")
prof.export_memory_timeline("kineto/memory.json")

section("level2")
level2 = profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level2, **quiet)
with profile(on_trace_ready=tensorboard_trace_handler("level2"), experimental_config=level2):
    torch.randperm(64, device="npu")
    train()

section("accepted")
config = profiler._ExperimentalConfig(op_attr=True, record_op_args=True, export_type=["text", "db"], **quiet)
told("accepted", config._op_attr, config.record_op_args)
config = profiler._ExperimentalConfig(op_attr=True, record_op_args=1, **quiet)
told("refused", config._op_attr, config.record_op_args)
told("activity", torch.profiler.ProfilerActivity.NPU == torch.profiler.ProfilerActivity.PrivateUse1)
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.NPU]) as p:
    train()
told("plain", sum(event.name == "aten::addmm" for event in p.events()))

section("unattended")
torch_npu.profiler._NonIntrusiveProfile.init()
os.environ["PROF_CONFIG_PATH"] = "script.py"
torch_npu.profiler._NonIntrusiveProfile.init()
section("end")
"""


def told(run: Any, name: str) -> list[Any]:
    (line,) = (line for line in run.stdout.splitlines() if line.startswith(f"told {name} ["))
    values: list[Any] = json.loads(line.removeprefix(f"told {name} "))
    return values


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


def test_an_object_of_schedule(run: Any) -> None:
    assert told(run, "schedule") == [2, 2, 1, 2, 1, 1]
    save = "RECORD_AND_SAVE"
    cycles = ["NONE", "WARMUP", "RECORD", save, "NONE", "NONE", "WARMUP", "RECORD", save]
    assert told(run, "actions") == [cycles, "NONE"]


def test_an_object_of_the_configuration(run: Any) -> None:
    assert told(run, "private") == [
        *("Level1", "ACL_AICORE_NONE", True, False, True, False, False, ["text"], ["cpu"], False, 0.5),
        *(["data"], [], True, True),
    ]
    assert told(run, "config") == [["text"], True, 0.5, True, False]
    assert told(run, "default config") == [["text"], False, None, False]


def test_an_object_of_profile(run: Any) -> None:
    assert told(run, "before") == [True, True, 0, "WARMUP", False, True, True, {}]
    assert told(run, "absent") == [[]]
    assert told(run, "entered") == [True]
    assert told(run, "metadata") == [{}], "taken by the second recording"
    assert told(run, "after") == [["run-1", "run-2", "run-2", "run-2"], 4, "NONE", True]
    assert told(run, "no schedule") == [False]
    outputs = run.outputs("object")
    assert [output.document("profiler_metadata.json")["trace_id"] for output in outputs] == ["run-1", "run-2"]
    assert [output.document("profiler_metadata.json")["step"] for output in outputs] == ["1", "3"]
    assert all(re.match(rf"bench_{run.pid}_\d{{17}}_ascend_pt$", output.path.name) for output in outputs)
    assert not any(output.folder.exists() for output in outputs), "analyse_flag is off"


def test_the_execution_trace_is_that_of_the_recorded_steps(run: Any) -> None:
    nodes = json.loads((run.folder / "execution_trace.json").read_text(encoding="utf-8"))["nodes"]
    names = [node["name"] for node in nodes]
    assert names.count("aten::addmm") == 2, "of two recorded steps, not of four"
    assert not any("drynpu" in name for name in names)


def test_the_controller_of_actions_carries_them_out(run: Any) -> None:
    assert told(run, "controller") == [True, True, True]
    assert run.section("controlled") == []
    names = [event["name"] for event in run.output("controlled").operators()]
    assert names.count("aten::addmm") == 2


def test_every_parameter_of_kineto_profile(run: Any) -> None:
    assert told(run, "kineto") == [False, {"kind": "by hand", "numbers": [1, 2]}]
    output = run.output("kineto_raw")
    assert list((run.folder / "export_only_prof_dir").iterdir()) == [], (
        "exported, and removed at the end of the process"
    )
    metadata = output.document("profiler_metadata.json")
    assert (metadata["trace_id"], metadata["kind"], metadata["numbers"]) == ("kineto-1", "by hand", [1, 2])
    common = output.document("profiler_info.json")["config"]["common_config"]
    assert [value for value in common.values() if isinstance(value, bool)] == [True] * 5
    trace = json.loads((run.folder / "kineto/trace.json").read_text(encoding="utf-8"))
    (addmm,) = (event for event in trace if event["name"] == "aten::addmm")
    assert addmm["args"]["Input Dims"].startswith("4;")
    assert ": train;" in addmm["args"]["Call stack"]
    assert any(event["name"] == "nn.Module: Linear_0" for event in trace)
    assert any(event["name"] == f"{2 * 4 * 8 * 16}-mm" for event in trace), "with_flops and mstx"
    assert "train" in (run.folder / "kineto/cpu.log").read_text(encoding="utf-8")
    times, sizes = json.loads((run.folder / "kineto/memory.json").read_text(encoding="utf-8"))
    assert times
    assert {row[1] for row in sizes} == {4 * (8 * 4 + 4)}, "the parameters of the layer"


def test_level2_adds_what_the_ai_cpu_did(run: Any) -> None:
    output = run.output("level2")
    (row,) = output.rows("data_preprocess.csv")
    (kernel,) = (row for row in output.rows("kernel_details.csv") if row["Accelerator Core"] == "AI_CPU")
    assert row["Node"] == kernel["Name"]
    # The record ends one tick of 20 ns before its task, so that the toolkit's parser finds the operator.
    assert float(row["Total_time(us)"]) == pytest.approx(float(kernel["Duration(us)"]) - 0.02, abs=0.001)
    assert [row["Stream ID"], row["Task ID"]] == [kernel["Stream ID"], kernel["Task ID"]]


def test_what_is_refused_is_refused_with_the_vendors_words(run: Any) -> None:
    assert told(run, "accepted") == [True, True]
    assert told(run, "refused") == [False, False]
    assert [message for _, message in run.section("accepted")] == [
        "Invalid parameter record_op_args, which must be of bool type, reset it to False.",
        "op_attr switch is invalid with export type set as text.",
    ]


def test_the_activity_of_pytorchs_own_profiler(run: Any) -> None:
    assert told(run, "activity") == [True]
    assert told(run, "plain") == [1]


def test_what_the_import_runs_watches_the_directory_of_the_environment(run: Any) -> None:
    said = run.stdout.split("begin unattended\n")[1].split("begin end")[0]
    assert said.count("is invalid, and profiler will not be enabled.") == 1
    assert "The path 'script.py'" in said


ENVIRONMENT = """
import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

for handler in (tensorboard_trace_handler(), None):
    with profile(on_trace_ready=handler):
        torch.ones(4, device="npu").add(1)
try:
    schedule(wait=0, active=1, warmup=1)(-1)
except ValueError as error:
    print("error", repr(str(error)))
"""


def test_variables_of_the_environment(scripts: Any) -> None:
    settings = {
        "ASCEND_WORK_PATH": "work",
        "TORCH_NPU_DISABLED_WARNING": "1",
        "TORCH_NPU_COMPACT_ERROR_OUTPUT": "1",
        "MSMONITOR_USE_DAEMON": "1",
        "DRYNPU_QUIET": "1",
    }
    run = scripts(ENVIRONMENT, environment=settings)
    assert {entry.name for entry in run.folder.iterdir()} == {"script.py", "work"}
    outputs = run.outputs("work/profiling_data")
    assert [output.folder.exists() for output in outputs] == [True, False]
    assert run.said("WARNING") == run.said("ERROR") == []
    assert "error 'Invalid parameter step, which must be not less than 0.'" in run.stdout
    assert len(outputs[0].rows("kernel_details.csv")) == 2, "a monitor that is asked for changes nothing"
