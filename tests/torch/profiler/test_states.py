"""The ways in which the vendor's guide starts, steps and stops a profiler, and what goes wrong in practice."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

PREAMBLE = """
import torch
import torch_npu
from torch_npu import profiler
from torch_npu.profiler import profile, schedule, tensorboard_trace_handler

weight = torch.ones(64, 64).to("npu:0")


def train_one_step():
    return (weight @ weight).relu().sum().item()


def section(name):
    print("begin", name, flush=True)

"""

DOCUMENTED = (
    PREAMBLE
    + """
section("block")
with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1),
    on_trace_ready=tensorboard_trace_handler("block"),
) as prof:
    for step in range(6):
        train_one_step()
        prof.step()

section("calls")
prof = profile(
    schedule=schedule(wait=0, warmup=0, active=1, repeat=1, skip_first=1),
    on_trace_ready=tensorboard_trace_handler("calls", worker_name="host1"),
)
prof.start()
for step in range(4):
    train_one_step()
    prof.step()
prof.stop()

section("one_step")
prof = profile(on_trace_ready=tensorboard_trace_handler("one_step"))
for step in range(4):
    if step == 2:
        prof.start()
    train_one_step()
    if step == 2:
        prof.stop()

section("repeat")
seen = []
ready = tensorboard_trace_handler("repeat")


def handler(prof):
    seen.append(prof.step_num)
    prof.add_metadata("handled", "after the files are written")
    ready(prof)


with profile(
    schedule=schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1), on_trace_ready=handler
) as prof:
    prof.add_metadata("cycle", "first")
    prof.add_metadata_json("numbers", "[1, 2, 3]")
    for step in range(12):
        train_one_step()
        prof.step()
print("ready at", seen)

section("after")
prof.step()
prof.step()

section("custom")
calls = []
tensorboard_trace_handler("custom")  # sets the directory of the process, and nothing else
with profile(on_trace_ready=lambda prof: calls.append(prof.step_num)) as prof:
    train_one_step()
    prof.step()
    train_one_step()
print("called at", calls)

section("no_schedule")
with profile() as prof:
    for step in range(2):
        train_one_step()
prof.export_chrome_trace("./chrome_trace_14.json")

section("kineto")
prof = torch_npu.profiler._KinetoProfile(record_shapes=True)
for epoch in range(3):
    train_one_step()
    if epoch == 0:
        prof.start()
    if epoch == 1:
        prof.stop()
prof.export_chrome_trace("result_dir/trace.json")

section("restart")
prof = profile(on_trace_ready=tensorboard_trace_handler("restart"))
for _ in range(2):
    prof.start()
    train_one_step()
    prof.stop()
section("end")
"""
)

DEFAULT = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
IN_RECORD = (
    "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
)


def warnings_of(run: Any, name: str) -> list[str]:
    return [message for severity, message in run.section(name) if severity == "WARNING"]


def recorded_steps(output: Any) -> list[str]:
    return [e["name"] for e in output.operators() if e["name"].startswith("ProfilerStep#")]


@pytest.fixture(scope="module")
def documented(scripts: Any) -> Any:
    return scripts(DOCUMENTED)


def test_block_with_a_schedule(documented: Any) -> None:
    output = documented.output("block")
    assert recorded_steps(output) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert [row["Step"] for row in output.rows("step_trace_time.csv")] == ["3", "4"]
    assert {row["Step Id"] for row in output.rows("kernel_details.csv")} == {"3", "4"}
    assert documented.section("block") == [("WARNING", DEFAULT)] * 2


def test_start_and_stop_by_hand(documented: Any) -> None:
    output = documented.output("calls")
    assert re.fullmatch(rf"host1_{documented.pid}_\d{{17}}_ascend_pt", output.path.name)
    assert recorded_steps(output) == ["ProfilerStep#1"]
    no_warmup = "Profiler won't be using warmup, this can skew profiler results"
    assert warnings_of(documented, "calls") == [no_warmup, DEFAULT, DEFAULT]


def test_start_and_stop_around_one_step(documented: Any) -> None:
    output = documented.output("one_step")
    assert recorded_steps(output) == []
    assert len(output.rows("kernel_details.csv")) == 4
    assert "Step Id" not in output.columns("kernel_details.csv")
    assert [row["Step"] for row in output.rows("step_trace_time.csv")] == [""]
    assert warnings_of(documented, "one_step") == [DEFAULT, DEFAULT, IN_RECORD]
    info = output.document("profiler_info.json")
    assert info["config"]["common_config"]["schedule"] == {}


def test_every_cycle_leaves_a_directory(documented: Any) -> None:
    first, second = documented.outputs("repeat")
    assert recorded_steps(first) == ["ProfilerStep#3", "ProfilerStep#4"]
    assert recorded_steps(second) == ["ProfilerStep#7", "ProfilerStep#8"]
    assert "ready at [5, 9]" in documented.stdout
    assert first.prof.name[:11] < second.prof.name[:11]
    assert first.document("profiler_metadata.json")["trace_id"] != second.document("profiler_metadata.json")["trace_id"]


def test_metadata_belongs_to_the_cycle_that_it_was_added_in(documented: Any) -> None:
    first, second = (output.document("profiler_metadata.json") for output in documented.outputs("repeat"))
    assert first["cycle"] == "first"
    assert first["numbers"] == [1, 2, 3]
    assert list(first)[:2] == ["cycle", "numbers"]
    assert "cycle" not in second
    assert "numbers" not in second
    assert second["handled"] == "after the files are written"  # added by the handler of the cycle before


def test_a_step_after_stop_says_so(documented: Any) -> None:
    assert documented.section("after") == [("WARNING", "Profiler is stopped, step takes no effect!")] * 2


def test_without_a_schedule_any_handler_is_called_once_at_stop(documented: Any) -> None:
    assert "called at [1]" in documented.stdout
    assert not documented.output("custom").folder.exists()
    assert warnings_of(documented, "custom") == [DEFAULT, DEFAULT, IN_RECORD]


def test_export_chrome_trace(documented: Any) -> None:
    trace = json.loads((documented.folder / "chrome_trace_14.json").read_text(encoding="utf-8"))
    assert sum(e.get("cat") == "cpu_op" and e["name"] == "aten::relu" for e in trace) == 2
    kernels = [e for e in trace if e["ph"] == "X" and e["name"] == "aclnnRelu_Relu_Relu"]
    assert len(kernels) == 2
    assert documented.section("no_schedule")[-1] == ("WARNING", IN_RECORD)


def test_without_a_handler_raw_data_goes_to_its_own_folder(documented: Any) -> None:
    (plain,) = documented.outputs("export_only_prof_dir")
    assert plain.document("profiler_info.json")["config"]["common_config"]["schedule"] == {}
    assert (plain.path / "FRAMEWORK").is_dir()
    assert plain.prof.is_dir()


def test_kineto_profile(documented: Any) -> None:
    trace = json.loads((documented.folder / "result_dir" / "trace.json").read_text(encoding="utf-8"))
    (relu,) = (e for e in trace if e.get("cat") == "cpu_op" and e["name"] == "aten::relu")
    assert relu["args"]["Input Dims"] == "64,64"
    assert documented.section("kineto") == [("WARNING", DEFAULT)]


def test_a_profiler_can_be_started_again(documented: Any) -> None:
    outputs = documented.outputs("restart")
    assert [len(output.rows("kernel_details.csv")) for output in outputs] == [4, 4]


def test_nothing_else_is_left(documented: Any) -> None:
    assert {entry.name for entry in documented.folder.iterdir()} == {
        "script.py",
        "block",
        "calls",
        "one_step",
        "custom",
        "repeat",
        "restart",
        "chrome_trace_14.json",
        "export_only_prof_dir",
        "result_dir",
    }
    assert "Traceback" not in documented.stderr


IRREGULAR = (
    PREAMBLE
    + """
actions = {
    "n": profiler.ProfilerAction.NONE,
    "w": profiler.ProfilerAction.WARMUP,
    "r": profiler.ProfilerAction.RECORD,
    "s": profiler.ProfilerAction.RECORD_AND_SAVE,
}


def run(name, script, steps):
    section(name)
    config = profiler._ExperimentalConfig(aic_metrics=profiler.AiCMetrics.AiCoreNone)
    handler = tensorboard_trace_handler(name)
    with profile(
        schedule=lambda step: actions[script[step]], on_trace_ready=handler, experimental_config=config
    ) as prof:
        for _ in range(steps):
            train_one_step()
            prof.step()


run("warmup_none", "nwnsn", 4)
run("record_none", "nrnsn", 4)
run("record_warmup", "nrwsn", 4)
run("stopped_in_warmup", "nrsnw", 4)
run("stopped_in_record", "nrrr", 3)
run("stopped_in_save", "nrrs", 3)
run("regular", "nwrsn", 4)
run("saves", "sssn", 3)
section("end")
"""
)


@pytest.fixture(scope="module")
def irregular(scripts: Any) -> Any:
    return scripts(IRREGULAR)


@pytest.mark.parametrize(
    ("name", "message", "directories"),
    [
        ("warmup_none", "Incorrect schedule: WARMUP followed by NONE", 2),
        ("record_none", "Incorrect schedule: RECORD followed by NONE", 2),
        ("record_warmup", "Incorrect schedule: RECORD followed by WARMUP", 2),
        (
            "stopped_in_warmup",
            "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data.",
            1,
        ),
        ("stopped_in_record", IN_RECORD, 1),
        (
            "stopped_in_save",
            "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed.",
            1,
        ),
        ("regular", None, 1),
        ("saves", None, 3),
    ],
)
def test_irregular_schedules(irregular: Any, name: str, message: str | None, directories: int) -> None:
    assert irregular.section(name) == ([("WARNING", message)] if message else [])
    outputs = irregular.outputs(name)
    assert len(outputs) == directories
    if name.startswith("record_"):
        # Stopped and written, but no handler was called: raw data for an offline analysis.
        assert not outputs[0].folder.exists()
        assert outputs[0].prof.is_dir()
        assert recorded_steps(outputs[1]) == ["ProfilerStep#3"]


NEVER = (
    PREAMBLE
    + """
prof = profile(schedule=schedule(wait=1, warmup=1, active=1), on_trace_ready=tensorboard_trace_handler("result"))
prof.stop()
section("never")
with profile(
    schedule=schedule(wait=5, warmup=1, active=1, skip_first=3), on_trace_ready=tensorboard_trace_handler("result")
) as prof:
    for step in range(4):
        train_one_step()
        prof.step()
section("function")
with profile(schedule=lambda step: profiler.ProfilerAction.NONE) as prof:
    train_one_step()
    prof.step()
section("twice")
prof = profile(on_trace_ready=tensorboard_trace_handler("twice"))
prof.start()
prof.start()
train_one_step()
prof.stop()
prof.stop()
section("unused")
profile(on_trace_ready=tensorboard_trace_handler("result"))
section("export")
prof = profile()
prof.export_chrome_trace("early.json")
section("other")
activities = [torch.profiler.ProfilerActivity.CPU]
with torch.profiler.profile(activities=activities) as other:
    with profile(on_trace_ready=tensorboard_trace_handler("other")) as prof:
        train_one_step()
        prof.step()
        print("trained on", flush=True)
print("other saw", sum(event.name == "aten::relu" for event in other.events()), flush=True)
section("inside")
with profile(on_trace_ready=tensorboard_trace_handler("inside")) as prof:
    train_one_step()
    with profile(on_trace_ready=tensorboard_trace_handler("second")):
        train_one_step()
    # Warming up must not disturb the other one either.
    with profile(schedule=schedule(wait=0, warmup=1, active=1), on_trace_ready=tensorboard_trace_handler("second")):
        train_one_step()
    tensorboard_trace_handler("inside")
section("taken over")
with profile(on_trace_ready=tensorboard_trace_handler("taken_over")) as prof:
    train_one_step()
    with torch.profiler.profile(activities=activities):
        train_one_step()
section("dropped")
prof = profile(on_trace_ready=tensorboard_trace_handler("dropped"))
prof.start()
train_one_step()
del prof
section("end")
"""
)


@pytest.fixture(scope="module")
def never(scripts: Any) -> Any:
    return scripts(NEVER)


def test_stop_without_start_leaves_no_file(never: Any) -> None:
    assert {entry.name for entry in never.folder.iterdir()} == {
        *("script.py", "twice", "other", "inside", "second", "taken_over", "dropped"),
    }
    assert "Profiler is not started, stop takes no effect!" in never.said("WARNING")[2]


def test_a_schedule_that_came_too_late_says_from_which_step_it_records(never: Any) -> None:
    said = warnings_of(never, "never")[-1]
    assert said.startswith("Nothing was recorded: the schedule records from step 9 on (counted from 0)")
    assert "step() was called only 4 times" in said


def test_a_function_that_never_records_is_told_before_training(never: Any) -> None:
    assert "the schedule records none of the first 10000 steps: no profile will be written" in never.stderr


def test_starting_and_stopping_twice_keeps_the_recording(never: Any) -> None:
    output = never.output("twice")
    assert len(output.rows("kernel_details.csv")) == 4
    said = warnings_of(never, "twice")
    assert said[2:] == [
        "Profiler is already started, start takes no effect!",
        IN_RECORD,
        "Profiler is not started, stop takes no effect!",
    ]


def test_export_before_anything_was_recorded(never: Any) -> None:
    assert never.section("export")[-1] == ("WARNING", "Invalid profiling path.")


def test_beside_another_profiler_the_script_goes_on_and_so_does_that(never: Any) -> None:
    errors = [message for severity, message in never.section("other") if severity == "ERROR"]
    assert len(errors) == 1
    assert errors[0].startswith("Call start failed. Exception: PyTorch's own profiler is already recording")
    assert "trained on\n" in never.stdout
    assert "other saw 1\n" in never.stdout
    assert not never.outputs("other")


def test_a_second_recording_is_refused_and_the_first_has_everything(never: Any) -> None:
    errors = [message for severity, message in never.section("inside") if severity == "ERROR"]
    assert len(errors) == 2
    assert all("Call start failed. Exception: another recording is already running" in error for error in errors)
    assert len(never.output("inside").rows("kernel_details.csv")) == 12
    assert not never.outputs("second")


def test_a_profiler_of_pytorch_that_is_started_meanwhile_takes_nothing_or_is_told(never: Any, native: bool) -> None:
    said = [message for message in warnings_of(never, "taken over") if "PyTorch's own profiler was started" in message]
    if native:  # whose recorder serves both
        assert said == []
        assert len(never.output("taken_over").rows("kernel_details.csv")) == 8
    else:
        assert len(said) == 1


def test_a_profiler_that_is_dropped_while_recording_is_stopped(never: Any) -> None:
    assert len(never.output("dropped").rows("kernel_details.csv")) == 4


RAISING = (
    PREAMBLE
    + """
class Stop(ValueError):
    pass


problem = Stop("the data ran out")
try:
    with profile(
        schedule=schedule(wait=0, warmup=0, active=3), on_trace_ready=tensorboard_trace_handler("raised")
    ) as prof:
        train_one_step()
        prof.step()
        train_one_step()
        raise problem
except Stop as error:
    assert error is problem
    print("caught the same", flush=True)


def handler(prof):
    raise RuntimeError("the handler is at fault")


tensorboard_trace_handler("faulty")

with profile(schedule=schedule(wait=0, warmup=0, active=1, repeat=1), on_trace_ready=handler) as prof:
    for _ in range(3):
        train_one_step()
        prof.step()
print("trained to the end", flush=True)
prof = profile(on_trace_ready=tensorboard_trace_handler("unfinished"))
prof.start()
train_one_step()
raise KeyError("at the end")
"""
)


def test_exceptions_of_the_script_stay_as_they_are(scripts: Any) -> None:
    run = scripts(RAISING, status=1)
    assert "caught the same" in run.stdout
    assert run.stderr.rstrip().endswith("KeyError: 'at the end'")
    output = run.output("raised")
    assert recorded_steps(output) == ["ProfilerStep#0", "ProfilerStep#1"]
    assert len(output.rows("kernel_details.csv")) == 8
    assert run.said("ERROR") == ["Call step failed. Exception: RuntimeError('the handler is at fault')"]
    assert "trained to the end" in run.stdout
    # A recording that the script never stopped is written when the process ends.
    assert len(run.output("unfinished").rows("kernel_details.csv")) == 4
