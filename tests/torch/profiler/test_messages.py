"""What the surface says, in the vendor's words and line format, before training begins (torch_npu_profiler.md 1)."""

from __future__ import annotations

import re
from typing import Any

import pytest

SCRIPT = """
import warnings

import torch
import torch_npu
from torch_npu import profiler
from torch_npu.profiler import _ExperimentalConfig, profile, schedule, tensorboard_trace_handler

warnings.simplefilter("always")
quiet = dict(aic_metrics=profiler.AiCMetrics.AiCoreNone)


def section(name):
    print("begin", name, flush=True)


section("schedule")
schedule(wait=-1, active=0, warmup="1", repeat=None, skip_first=-5, skip_first_wait="x")
section("regular schedule")
schedule(1, 2, 1)
section("negative step")
try:
    schedule(wait=0, active=1, warmup=1)(-1)
except ValueError as error:
    print(error)
section("default")
profile()
section("config")
_ExperimentalConfig(export_type=None, l2_cache=1, mstx="yes", sys_io=0, record_op_args=None, **quiet)
section("unknown metric")
_ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1, aic_metrics="PipeUtilisation")
section("unknown level")
_ExperimentalConfig(profiler_level="Level9", **quiet)
section("level none")
_ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level_none, **quiet)
section("garbage")
_ExperimentalConfig(gc_detect_threshold=-1, host_sys="cpu", export_type="xml", **quiet)
section("profile")
profile(
    activities=["GPU"],
    schedule=5,
    on_trace_ready="./out",
    record_shapes="yes",
    with_stack=1,
    use_cuda=True,
    experimental_config={"profiler_level": "Level1"},
)
section("cpu only")
profile(activities=[profiler.ProfilerActivity.CPU], experimental_config=_ExperimentalConfig(**quiet))
section("trace id")
prof = profile(experimental_config=_ExperimentalConfig(**quiet), custom_trace_id_callback="id")
prof.set_custom_trace_id_callback(7)
section("handler")
tensorboard_trace_handler(dir_name=7, worker_name="", analyse_flag="no", async_mode=1)
section("metadata")
prof = profile(experimental_config=_ExperimentalConfig(**quiet))
prof.add_metadata("key", 5)
prof.add_metadata("key", "a")
prof.add_metadata("key", "b")
prof.add_metadata("long", "x" * 5000)
prof.add_metadata_json("list", [1, 2, 3])
prof.add_metadata_json("text", "not json")
section("much metadata")
prof = profiler._KinetoProfile(experimental_config=_ExperimentalConfig(**quiet))
prof.add_metadata_json("nested", '{"a": [1, null]}')
for number in range(3000):  # 50 KiB of table
    prof.add_metadata(str(number), "x")
print("kept", len(prof.metadata), prof.metadata["nested"])
section("values")
print(sorted(profiler.supported_activities(), key=str))
print(sorted(profiler.supported_profiler_level()), len(profiler.supported_ai_core_metrics()))
print(sorted(profiler.supported_export_type()), profiler.AiCMetrics.L2Cache, profiler.ProfilerLevel.Level_none)
print(str(profiler.ProfilerActivity.NPU))
section("end")
"""

DEFAULT = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"

EXPECTED: dict[str, list[str]] = {
    "schedule": [
        "Invalid parameter wait, reset it to 0.",
        "Invalid parameter warmup, reset it to 0.",
        "Invalid parameter active, reset it to 1.",
        "Invalid parameter repeat, reset it to 0.",
        "Invalid parameter skip_first, reset it to 0.",
        "Invalid parameter skip_first_wait, reset it to 0.",
        "Profiler won't be using warmup, this can skew profiler results",
    ],
    "regular schedule": [],
    "default": [DEFAULT, DEFAULT],
    "config": [
        "Invalid parameter export_type: None, reset it to text.",
        "Invalid parameter l2_cache, which must be of bool type, reset it to False.",
        "Invalid parameter mstx, which must be of bool type, reset it to False.",
        "Invalid parameter record_op_args, which must be of bool type, reset it to False.",
        "Invalid parameter sys_io, which must be of bool type, reset it to False.",
    ],
    "unknown metric": ["Invalid parameter aic_metrics, reset it to default."],
    "unknown level": ["Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."],
    "level none": ["Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none."],
    "garbage": [
        "Invalid parameter export_type, reset it to text.",
        "Parameter gc_detect_threshold can not be negative, reset it to default.",
        "Invalid parameter host_sys, which must be of list type, reset it to empty.",
    ],
    "profile": [
        *[
            "Invalid activities, only CPU and NPU are supported, reset it to default.",
            "Parameter record_shapes is of boolean type, reset it to False.",
            "Parameter with_stack is of boolean type, reset it to False.",
            "Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default.",
            DEFAULT,
        ]
        * 2,
        "schedule is not Callable, set by default.",
        "on_trace_ready is not Callable, set by default.",
        "This is npu environment, use_cuda is invalid",
    ],
    "cpu only": ["Experimental config will not be used while ProfilerActivity.NPU is not set."] * 2,
    "trace id": ["Parameter custom_trace_id_callback is not callable, reset it to default."] * 3,
    "handler": [
        "analyse_flag is not bool, set by default.",
        "async_mode is not bool, set by default.",
        "Invalid parameter worker_name, reset it to default.",
        "Invalid parameter dir_name, reset it to default.",
    ],
    "metadata": [
        "The key and value of metadata must be string. Skip this metadata.",
        "key is already saved as metadata, override it.",
        "Invalid input key or value. Skip this metadata.",
        "The key and value of metadata must be string. Skip this metadata.",
        "The metadata value must be json format string. Skip this metadata",
    ],
}


def sections(run: Any) -> dict[str, str]:
    parts = re.split(r"^begin (.*)\n", run.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


@pytest.mark.parametrize("name", EXPECTED)
def test_messages(run: Any, name: str) -> None:
    lines = sections(run)[name].splitlines()
    said = []
    for line in lines:
        match = re.fullmatch(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[WARNING\] \[(\d+)\] profiler\.py: (.*)", line)
        assert match, line
        assert int(match[1]) == run.pid
        said.append(match[2])
    said = [message for message in said if not message.startswith("drynpu")]
    assert said == EXPECTED[name]


def test_metadata_is_taken_up_to_a_size(run: Any) -> None:
    *lines, last = sections(run)["much metadata"].splitlines()
    assert {line.partition("profiler.py: ")[2] for line in lines} == {"Too many metadata added. Skip this metadata"}
    kept = 3001 - len(lines)
    assert last == f"kept {kept} {{'a': [1, None]}}"
    assert 100 < kept < 3001


def test_a_negative_step_raises_with_the_error_code(run: Any) -> None:
    first, second = sections(run)["negative step"].splitlines()
    assert first == "Invalid parameter step, which must be not less than 0."
    assert re.fullmatch(
        rf"\[ERROR\] [\d-]{{10}}-[\d:]{{8}} \(PID:{run.pid}, Device:-?\d+, RankID:-1\) ERR04003 PROF invalid value",
        second,
    )


def test_values(run: Any) -> None:
    assert sections(run)["values"].splitlines() == [
        "[<ProfilerActivity.CPU: 0>, <ProfilerActivity.NPU: 1>]",
        "['Level0', 'Level1', 'Level2', 'Level_none'] 9",
        "['db', 'text'] ACL_AICORE_L2_CACHE Level_none",
        "ProfilerActivity.NPU",
    ]


@pytest.mark.parametrize("environment", [{"RANK": "1"}, {"TORCH_NPU_WARNING_DISABLE": "1"}])
def test_warnings_can_be_turned_off(scripts: Any, environment: dict[str, str]) -> None:
    script = """
import torch
import torch_npu
from torch_npu.profiler.profiler import analyse

with torch_npu.profiler.profile(on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("out")) as prof:
    torch.ones(4, device="npu").add(1).cpu()
analyse("nowhere")
"""
    run = scripts(script, environment=environment)
    assert run.said("WARNING") == []
    assert run.said("ERROR") == ["Call analyse failed. Exception: The path does not exist: nowhere"]
    assert run.said("INFO")
    name = f"profiler_info{'_1' if 'RANK' in environment else ''}.json"
    assert (run.output("out").path / name).is_file()
    # Only one process of a job shows the summary.
    assert ("simulated" in run.stdout) == ("RANK" not in environment)


@pytest.mark.parametrize("name", ["PROFILING_MODE", "PROFILER_SAMPLECONFIG"])
def test_another_collector_switches_the_profiler_off(scripts: Any, name: str) -> None:
    script = """
import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

for folder in ("a", "b"):
    ready = tensorboard_trace_handler(folder)
    with profile(schedule=schedule(wait=0, active=1, warmup=1), on_trace_ready=ready) as prof:
        for _ in range(4):
            torch.ones(4, device="npu").add(1).cpu()
            prof.step()
print("trained")
"""
    run = scripts(script, environment={name: "dynamic"})
    expected = {
        "PROFILER_SAMPLECONFIG": "If performance data is collected using the 'msprof' tool. torch_npu profiler api is "
        "not effective.",
        "PROFILING_MODE": "Environment variable 'PROFILING_MODE' is set. torch_npu profiler api is not effective. "
        "Please execute 'unset PROFILING_MODE'.",
    }
    assert [m for m in run.said() if "not effective" in m] == [expected[name]]
    assert "trained" in run.stdout
    assert {entry.name for entry in run.folder.iterdir()} == {"script.py"}


PATHS = """
import sys

import torch
import torch_npu
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

handler = tensorboard_trace_handler(sys.argv[1])
print("training begins", flush=True)
with profile(schedule=schedule(wait=0, warmup=1, active=1, repeat=1), on_trace_ready=handler) as prof:
    for step in range(4):
        loss = torch.ones(4, device="npu").add(1).sum().item()
        prof.step()
        print("step", step, loss, flush=True)
print("training ends", flush=True)
"""


@pytest.mark.parametrize(
    ("path", "before"),
    [
        ("script.py", "Invalid input path is a file path"),
        ("script.py/below", "The path permission check failed"),
        ("/proc/nowhere/out", "The path permission check failed"),
    ],
)
def test_a_bad_directory_is_told_before_training_and_does_not_end_it(scripts: Any, path: str, before: str) -> None:
    run = scripts(PATHS, path)
    early, late = run.stdout.split("training begins\n")
    assert before in early + run.stderr
    assert "training ends" in late
    assert [line for line in late.splitlines() if line.startswith("step")] == [f"step {i} 8.0" for i in range(4)]
    left = {entry.name for entry in run.folder.iterdir()}
    if path == "script.py":
        # The handler could not be made, and without one raw data is kept, as with the vendor.
        assert "Call tensorboard_trace_handler failed. Exception: Invalid input path is a file path" in early
        assert left == {"script.py", "export_only_prof_dir"}
    else:
        assert re.search(rf"script\.py:\d+: UserWarning: The path permission check failed: {path} ", run.stderr)
        assert left == {"script.py"}
        assert run.said("ERROR")[0].startswith("Call start failed. Exception: cannot create the result directory")


def test_an_unusual_directory_is_warned_about_and_used(scripts: Any) -> None:
    run = scripts(PATHS, "odd name (1)!")
    assert "Invalid input path: odd name (1)!" in run.stderr
    assert run.output("odd name (1)!").rows("kernel_details.csv")
