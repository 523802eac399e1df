"""A training is running; from a second terminal its profiler_config.json is edited, and results appear."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from drynpu_torch.profiler.dynamic._config import template

pytestmark = pytest.mark.slow

CONFIG = "profiler_config.json"
LINE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[([A-Z]+)\] \[(\d+)\] \w+\.py: (.*)$")

TRAINING = """
import pathlib
import time

import torch
import torch_npu
from torch_npu.profiler import dynamic_profile as dp

model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.ones(8, 32).npu()
dp.init("dp")
dp.init("again")
step = 0
while not pathlib.Path("finish").exists():
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    dp.step()
    step += 1
    pathlib.Path("step.new").write_text(str(step))
    pathlib.Path("step.new").replace("step")  # whole at any moment: the test reads it meanwhile
    time.sleep(0.015)
print("trained", flush=True)
"""

UNCHANGED_TRAINING = """
import pathlib
import time

import torch

model = torch.nn.Linear(16, 16).to("npu")
generator = torch.optim.SGD([model.weight], lr=0.01)
other = torch.optim.SGD([model.bias], lr=0.01)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(4, 16)), batch_size=2, num_workers=1)
for _ in loader:  # its worker is a forked process without a watch of its own
    pass
while not pathlib.Path("finish").exists():
    model(torch.ones(2, 16).npu()).sum().backward()
    for optimizer in (generator, other):
        optimizer.step()
        optimizer.zero_grad()
    time.sleep(0.015)
"""


@define
class Training:
    """A running script and the directory in which it is steered."""

    folder: Path
    process: Any
    steering: str
    _edits: int = 0
    _finished: tuple[str, str] | None = field(default=None, repr=False)

    @property
    def config(self) -> Path:
        return self.folder / self.steering / CONFIG

    def log(self, prefix: str = "") -> list[tuple[str, str]]:
        """Level and text of the lines of a log."""
        files = list((self.folder / self.steering).glob(f"log/{prefix}dp_*_{self.process.pid}_rank_*.log"))
        lines = [LINE.match(line) for file in files for line in file.read_text().splitlines()]
        assert all(line and int(line[2]) == self.process.pid for line in lines)
        return [(line[1], line[3]) for line in lines if line]

    def wait(self, what: Callable[[], Any], seconds: float = 60) -> Any:
        end = time.monotonic() + seconds
        while True:
            found = what()
            if found:
                return found
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise AssertionError((self.log(), self.process.communicate()))
            time.sleep(0.02)

    def edit(self, text: str) -> None:
        """Write the file as an editor does, whole."""
        fresh = self.config.with_name("fresh")
        fresh.write_text(text)
        fresh.replace(self.config)

    def record(self, **given: Any) -> None:
        """Ask for a recording of the next steps and wait for its end."""
        stops = self.said("Stop Dynamic Profiler at")
        self.edit(json.dumps({"start_step": -1, **given}))
        self.wait(lambda: len(self.said("Stop Dynamic Profiler at")) > len(stops))

    def said(self, begin: str, prefix: str = "") -> list[str]:
        return [text for _, text in self.log(prefix) if text.startswith(begin)]

    def finish(self) -> str:
        """End the script and return what it printed."""
        if self._finished is None:
            (self.folder / "finish").touch()
            self._finished = self.process.communicate(timeout=600)
        stdout, stderr = self._finished
        assert self.process.returncode == 0, stderr
        return stdout

    def outputs(self, below: str) -> list[Path]:
        return sorted((self.folder / below).glob("*_ascend_pt"))

    def info(self, below: str) -> dict[str, Any]:
        (output,) = self.outputs(below)
        (path,) = output.glob("profiler_info*.json")
        return json.loads(path.read_text())


FULL = {
    "activities": ["CPU", "NPU"],
    "prof_dir": "full",
    "analyse": True,
    "async_mode": False,
    "record_shapes": True,
    "profile_memory": True,
    "with_stack": True,
    "with_flops": False,
    "with_modules": False,
    "active": 2,
    "warmup": 1,
    "is_rank": False,
    "rank_list": [],
    "metadata": {"asked": {"by": "test"}},
    "experimental_config": {
        "profiler_level": "Level1",
        "aic_metrics": "PipeUtilization",
        "data_simplification": False,
        "export_type": "text",
        "mstx": True,
    },
}


@pytest.fixture(scope="module")
def trainings(scripts: Any) -> Iterator[tuple[Training, Training]]:
    """Start both trainings, make all edits of both at the same time, and return them finished."""
    environment = {"DRYNPU_QUIET": "1", "RANK": "0"}
    one = Training(*scripts.start(TRAINING, environment=environment), "dp")
    environment = {"DRYNPU_QUIET": "1", "DRYNPU_AUTOLOAD": "1", "PROF_CONFIG_PATH": "steer"}
    other = Training(*scripts.start(UNCHANGED_TRAINING, environment=environment), "steer")
    try:
        with ThreadPoolExecutor(2) as pool:
            for future in [pool.submit(steer, one), pool.submit(steer_unchanged, other)]:
                future.result()
        yield one, other
    finally:
        for training in (one, other):
            if training.process.poll() is None:
                training.process.kill()
                training.process.communicate()


def steer(training: Training) -> None:
    training.wait(training.config.exists)
    assert training.config.read_text() == template()
    assert stat.S_IMODE(training.config.stat().st_mode) & ~0o640 == 0
    training.record(**FULL)
    loads = len(training.said("Dynamic profiler process load json failed", "monitor_"))
    training.edit("{ not json")
    training.wait(lambda: len(training.said("Dynamic profiler process load json failed", "monitor_")) > loads)
    training.record(prof_dir="odd", active="many", activities=["GPU", "cpu"], with_stack=3, colour="red")
    training.edit(json.dumps({"prof_dir": "not this rank", "start_step": -1, "is_rank": True, "rank_list": [5]}))
    training.wait(lambda: training.said("Rank 0 not in valid rank_list {5}!"))
    training.record(prof_dir="listed", analyse=True, is_rank=True, rank_list=[0, 5])
    training.edit(json.dumps({"prof_dir": "past", "start_step": 3}))
    training.wait(lambda: training.said("Dynamic Profiler config is not effective. The start_step=3, "))
    ahead = int((training.folder / "step").read_text()) + 250
    training.record(prof_dir="ahead", start_step=ahead)
    training.finish()


def steer_unchanged(training: Training) -> None:
    training.wait(training.config.exists)
    training.wait(lambda: training.said("Dynamic profiling monitor process poll interval time change to 1s"))
    training.record(prof_dir="out", active=3, analyse=True)
    training.finish()


@pytest.fixture(scope="module")
def training(trainings: tuple[Training, Training]) -> Training:
    return trainings[0]


@pytest.fixture(scope="module")
def stdout(training: Training) -> str:
    return training.finish()


def test_training_goes_on_and_what_is_said_is_the_vendors(training: Training, stdout: str) -> None:
    assert "trained" in stdout
    assert "[WARNING] " in stdout
    assert stdout.count("profiler.py: Init dynamic profiling repeatedly") == 1
    assert not (training.folder / "again").exists()
    assert "[ERROR]" not in stdout
    assert {entry.name for entry in training.folder.iterdir()} == {
        *("script.py", "step", "finish", "dp", "full", "odd", "listed", "ahead")
    }
    monitor = [text for _, text in training.log("monitor_")]
    assert monitor.count("Dynamic profiler process load json success") == 6
    assert monitor[-1] == "Dynamic profiler process done"
    assert training.said("Create profiler_config.json default.")


def test_a_recording_lasts_warmup_and_active_steps(training: Training) -> None:
    starts = [int(text.split()[-2]) for text in training.said("Start Dynamic Profiler at")]
    stops = [int(text.split()[-2]) for text in training.said("Stop Dynamic Profiler at")]
    assert [stop - start for start, stop in zip(starts, stops, strict=True)] == [3, 1, 1, 1]


def test_every_field_of_the_file_arrives(training: Training, output: Callable[[Path], Any]) -> None:
    config = training.info("full")["config"]
    common, experimental = config["common_config"], config["experimental_config"]
    assert common["schedule"] == {
        "wait": 0, "active": 2, "warmup": 1, "repeat": 1, "skip_first": 0, "skip_first_wait": 0,
    }  # fmt: skip
    assert {name: common[name] for name in FULL if name.startswith(("record", "profile", "with"))} == {
        name: value for name, value in FULL.items() if name.startswith(("record", "profile", "with"))
    }
    assert (experimental["_profiler_level"], experimental["_aic_metrics"]) == (
        "Level1",
        "ACL_AICORE_PIPE_UTILIZATION",
    )
    full = output(training.outputs("full")[0])
    assert full.document("profiler_metadata.json")["asked"] == {"by": "test"}
    assert {"trace_view.json", "kernel_details.csv", "operator_memory.csv", "api_statistic.csv"} <= full.files
    operator = next(e for e in full.operators() if e["name"] == "aten::addmm")
    assert {"Input Dims", "Call stack"} <= set(operator["args"])


def test_steps_are_numbered_by_the_counter_and_marked(training: Training, output: Callable[[Path], Any]) -> None:
    start = int(training.said("Start Dynamic Profiler at")[0].split()[-2])
    full = output(training.outputs("full")[0])
    recorded = [start + 1, start + 2]
    steps = [e["name"] for e in full.operators() if e["name"].startswith("ProfilerStep#")]
    assert steps == [f"ProfilerStep#{number}" for number in recorded]
    marks = [e["name"] for e in full.trace if e["ph"] == "X" and "event_type" in e.get("args", {})]
    assert marks == [f"step {number}" for number in recorded]
    assert [row["Step"] for row in full.rows("step_trace_time.csv")] == [str(number) for number in recorded]


def test_bad_values_are_replaced_and_named(training: Training) -> None:
    warnings = [text for level, text in training.log() if level == "WARNING"]
    assert {
        "Invalid parameter active, reset it to 1.",
        "Set activity failed, activity must be CPU OR NPU!",
        "Unknown key colour is ignored.",
    } <= set(warnings)
    info = training.info("odd")
    assert info["config"]["common_config"]["activities"] == ["ProfilerActivity.CPU"]
    assert info["config"]["common_config"]["with_stack"] is False
    (odd,) = training.outputs("odd")
    assert {entry.name for entry in odd.iterdir()} == {*("FRAMEWORK", "profiler_info_0.json", "profiler_metadata.json")}


def test_ranks_choose_and_a_listed_rank_is_not_analysed(training: Training) -> None:
    assert not (training.folder / "not this rank").exists()
    (listed,) = training.outputs("listed")
    assert list(listed.glob("PROF_*/device_0/data/*"))
    assert not (listed / "ASCEND_PROFILER_OUTPUT").exists()
    assert training.said("Rank 0 is in valid rank_list {0, 5}, profiler data analyse will be closed !")


def test_a_step_ahead_is_waited_for_and_one_that_is_past_is_told(training: Training, stdout: str) -> None:
    assert not (training.folder / "past").exists()
    assert "profiler.py: Dynamic Profiler config is not effective. The start_step=3, current_step=" in stdout
    (start,) = (int(text.split()[-2]) for text in training.said("Start Dynamic Profiler at")[3:])
    assert training.info("ahead")["config"]["common_config"]["schedule"]["active"] == 1
    assert start >= 250


def test_a_training_that_knows_nothing_of_it_is_steered_by_the_environment(
    trainings: tuple[Training, Training], output: Callable[[Path], Any]
) -> None:
    training = trainings[1]
    # Two optimizers step in every step of training; it counts once.
    result = output(training.outputs("out")[0])
    names = [e["name"] for e in result.operators()]
    assert [name for name in names if name.startswith("Optimizer.step#")] == ["Optimizer.step#SGD.step"] * 6
    assert len([name for name in names if name.startswith("ProfilerStep#")]) == 3
    assert len(list((training.folder / "steer" / "log").iterdir())) == 2
    assert "Init dynamic profiling repeatedly" not in training.finish()


STARTED = """
import json
import pathlib

import torch
import torch_npu
from torch_npu.profiler import dynamic_profile as dp

dp.step()
dp.start()
dp.init(__file__)
dp.init(7)
print("begin", "state", flush=True)
dp.set_state([3])
dp.set_state({"cur_step": -1})
dp.set_state({"cur_step": 100})
print("begin", "start", flush=True)
dp.init("dp")
config = {"prof_dir": "one", "active": 2, "is_rank": True, "rank_list": [7]}
pathlib.Path("given.json").write_text(json.dumps(config))
pathlib.Path("empty.json").write_text("{}")
dp.start("empty.json")
dp.start("given.json")
dp.start("given.json")
for _ in range(5):
    torch.ones(4).npu().add(1)
    dp.step()
pathlib.Path("dp/profiler_config.json").write_text(json.dumps({**config, "prof_dir": "two", "active": 1}))
dp.start("missing.json")
torch.ones(4).npu().mul(2)
dp.step()
dp.step()
print("end", flush=True)
"""


def test_a_recording_can_be_started_from_the_script(scripts: Any) -> None:
    run = scripts(STARTED, environment={"DRYNPU_QUIET": "1"})
    errors = run.said("ERROR")
    assert errors[0] == "Failed to read config from : None. Please check the config file. "
    paths = [message for message in errors if "will not be enabled" in message]
    script = run.folder / "script.py"
    assert paths == [f"The path '{path}' is invalid, and profiler will not be enabled." for path in (script, 7)]
    assert [message for _, message in run.section("state")] == [
        "Dynamic profiler state_step must be dict.",
        "Dynamic profiler cur_step must be a non-negative integer.",
    ]
    missing = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "missing.json")
    assert [message for severity, message in run.section("start") if severity == "ERROR"] == [
        "The config data is empty from: empty.json. Please check the config file. ",
        "Profiler already started. Cannot call start interface while the profiler is active. ",
        f"The provided config_path is invalid: missing.json. Details: {missing}",
    ]
    assert f"The start interface profiler enable config path is set to {run.folder / 'dp' / CONFIG}" in run.said("INFO")
    assert run.output("one").document("profiler_info*.json")["config"]["common_config"]["schedule"]["active"] == 2
    assert run.output("two").document("profiler_info*.json")["config"]["common_config"]["schedule"]["active"] == 1
    (log,) = run.folder.glob("dp/log/dp_*_rank_-1.log")
    lines = [LINE.match(line) for line in log.read_text().splitlines()]
    ends = [line[3] for line in lines if line and re.match("(Start|Stop) Dynamic", line[3])]
    expected = [("Start", 100), ("Stop", 102), ("Start", 105), ("Stop", 106)]
    assert ends == [f"{word} Dynamic Profiler at {number} step." for word, number in expected]


def test_a_step_that_has_nothing_to_do_is_cheap(tmp_path: Path) -> None:
    from drynpu_torch.profiler.dynamic._dynamic import DynamicProfile

    dynamic = DynamicProfile()
    assert dynamic.init(tmp_path)
    assert dynamic._monitor is not None
    try:
        dynamic.step_number = 20
        begun = time.perf_counter()
        for _ in range(100_000):
            dynamic.step()
        took_us = (time.perf_counter() - begun) * 10
        assert took_us < 5, f"{took_us:.2f} us per step"
    finally:
        dynamic.close()
