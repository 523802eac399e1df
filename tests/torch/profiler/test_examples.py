"""The examples of marks and of dynamic profiling, run as their texts say."""

from __future__ import annotations

import csv
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples" / "torch"


def test_marks_of_ones_own(scripts: Any) -> None:
    drynpu = Path(sys.executable).with_name("drynpu")
    run = scripts(EXAMPLES / "mark_steps.py", "--level", "Level1", program=(str(drynpu), "run"))
    output = run.output("marks_out")
    (table,) = output.prof.glob("mindstudio_profiler_output/msprof_tx_*.csv")
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    counts = {name: sum(row["message"] == name for row in rows) for name in ("forward", "update", "wait for data")}
    assert counts == dict.fromkeys(counts, 3)
    assert sum(row["message"].startswith("loss ") for row in rows) == 3
    assert {row["message"] for row in rows if row["Device_id"] == "0"} == {
        *("forward", "backward", "optimizer", "ProfilerStep#2", "ProfilerStep#3", "ProfilerStep#4")
    }
    assert {row["domain"] for row in rows if row["message"] == "wait for data"} == {"data"}
    assert output.rows("kernel_details.csv")
    assert run.said("ERROR") == []


def test_a_training_profiled_while_it_runs(scripts: Any) -> None:
    folder, process = scripts.start(EXAMPLES / "train_dynamic.py", "--pause", "0.01", environment={"DRYNPU_QUIET": "1"})
    try:
        assert "edit ./dynamic/profiler_config.json" in process.stdout.readline()
        config = folder / "dynamic" / "profiler_config.json"
        asked = json.loads(config.read_text()) | {"start_step": -1, "analyse": True, "active": 2, "prof_dir": "seen"}
        config.write_text(json.dumps(asked, indent=4))
        end = time.monotonic() + 60
        while not list(folder.glob("seen/*_ascend_pt/ASCEND_PROFILER_OUTPUT/analyse.done")):
            assert time.monotonic() < end
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=600)
    finally:
        process.kill()
    assert process.returncode == 0, stderr
    assert "stopped after" in stdout
    (trace,) = folder.glob("seen/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    names = [event["name"] for event in json.loads(trace.read_text())]
    assert len([name for name in names if name.startswith("ProfilerStep#")]) == 2


FAQ = """
import os
import pathlib
import shutil

import torch
import torch_npu
from torch_npu.profiler._profiler_path_creator import ProfPathCreator


def locally_then_to(target, directory):
    ProfPathCreator().init(worker_name="worker", dir_name=directory)

    def handler(prof):
        prof.prof_if.analyse()
        assert ProfPathCreator().get_prof_dir() == prof.prof_if.prof_path
        pathlib.Path(target).mkdir(exist_ok=True)
        for entry in os.listdir(directory):
            shutil.move(os.path.join(directory, entry), target)

    return handler


print(ProfPathCreator().is_prof_inited, ProfPathCreator().get_prof_dir(), flush=True)
prof = torch_npu.profiler.profile(
    on_trace_ready=locally_then_to("shared", "local"),
    schedule=torch_npu.profiler.schedule(skip_first=1, repeat=1, active=2, wait=0, warmup=0),
)
prof.start()
for _ in range(5):
    torch.rand(2, 3).to("npu") + torch.rand(2, 3).to("npu")
    prof.step()
prof.stop()
print(ProfPathCreator().is_prof_inited)

creator = ProfPathCreator()
creator.init(dir_name=7, worker_name="")
creator.init(export_only_mode=True)
creator.create_prof_dir()
made = pathlib.Path(creator.get_prof_dir())
print(made.parent.name, made.is_dir())
creator.delete_export_only_prof()
print(made.exists())
creator.init(dir_name="kept")
creator.create_prof_dir()
creator.delete_export_only_prof()
print(pathlib.Path(creator.get_prof_dir()).is_dir())
creator.delete_prof_dir()
creator.delete_prof_dir()
"""


def test_a_handler_of_ones_own_after_the_vendors_faq(scripts: Any) -> None:
    run = scripts(FAQ, environment={"DRYNPU_QUIET": "1"})
    printed = [line for line in run.stdout.splitlines() if not line.startswith("[")]
    assert printed == ["False None", "True", "export_only_prof_dir True", "False", "True"]
    output = run.output("shared")
    assert output.path.name.startswith(f"worker_{run.pid}_")
    assert output.rows("kernel_details.csv")
    assert not list((run.folder / "local").iterdir())
    assert [line for line in run.said("WARNING") if "Invalid" in line or "Remove" in line] == [
        "Invalid parameter worker_name, reset it to default.",
        "Invalid parameter dir_name, reset it to default.",
        "Remove temporary profiling data saving path failed.",
    ]
    assert not list((run.folder / "kept").iterdir())
