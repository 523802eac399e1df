"""Each complaint of the FAQ has a test: a run in which it happens, and what drynpu tells the user."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))

SCRIPT = """
import os
import torch, torch_npu
from torch_npu import profiler as p

os.dup2(1, 2)  # what is said stands between the lines that name the cases
x, host = torch.ones(64, 64).npu(), torch.ones(64, 64)


def run(name, tensor=x, level=p.ProfilerLevel.Level1, **schedule):
    print("==", name, flush=True)
    config = p._ExperimentalConfig(profiler_level=level)
    handler = p.tensorboard_trace_handler(name)
    plan = p.schedule(**schedule) if schedule else None
    with p.profile(schedule=plan, on_trace_ready=handler, experimental_config=config) as prof:
        for _ in range(3):
            (tensor @ tensor).sum()
            prof.step()


run("whole", wait=0, warmup=1, active=2, repeat=1)
run("never", wait=5, warmup=1, active=2, repeat=1)
run("cut", wait=0, warmup=0, active=9, repeat=1)
run("level", level=p.ProfilerLevel.Level0)
run("host", tensor=host)
print("== option", flush=True)
p._ExperimentalConfig(export_type=None)
print("== mixed", flush=True)
try:
    x @ host
except RuntimeError as error:
    print(error)
print("== summary", flush=True)
"""

ELSEWHERE = {
    "Parsing failed, or the process was killed": (
        "tests/torch/profiler/test_killed.py",
        "test_a_killed_run_keeps_the_steps_before_the_last_half_second",
    ),
    "The script wants CUDA": (
        "tests/core/cli/test_cuda_scripts.py",
        "test_a_script_that_ends_for_want_of_cuda_gets_a_hint",
    ),
    "Training in MindSpore has no steps": (
        "tests/mindspore/recording/test_iterations.py",
        "test_every_kernel_belongs_to_an_iteration_and_the_step_page_has_them",
    ),
    "A second profiler in one process": (
        "tests/mindspore/profiler/test_states.py",
        "test_a_profiler_that_starts_ends_what_another_one_records",
    ),
    "An operator runs on the CPU": (
        "tests/plugins/torch_operators/native/test_host_operators.py",
        "test_the_host_runs_them_between_copies",
    ),
    "A package of the toolkit does not import": (
        "tests/core/test_finder.py",
        "test_a_package_of_the_toolkit_without_a_facade_names_the_way",
    ),
    "Which release of PyTorch, MindSpore, TensorFlow and Python": (
        "tests/core/cli/test_probing.py",
        "test_the_command_names_what_is_broken",
    ),
}
"""Complaints whose test needs more than a short run, and stands with the feature."""
CLAIMS = {
    "Ask before the run: `drynpu check config.json --steps 100`": (
        "tests/plugins/script_check/test_check.py",
        "test_a_schedule_that_never_records_within_the_run",
    ),
    "The sink cannot find it, and the summary says that it served": (
        "tests/torch/native/test_choice.py",
        "test_the_summary_names_the_device_once",
    ),
    "without the framework and the script: `drynpu analyze DIR`": (
        "tests/plugins/msprof/damage/test_damaged_profiles.py",
        "test_a_profile_without_the_framework_is_exported_whole",
    ),
    "A damaged profile is named, and the others of the folder are done": (
        "tests/core/cli/test_analyze.py",
        "test_one_bad_profile_does_not_hide_the_others",
    ),
    "the timeline of `drynpu dashboard DIR`, read all digits": (
        "tests/plugins/pages/perfetto/test_trace.py",
        "test_every_event_of_a_run_is_there_with_its_times",
    ),
}
"""What else the page promises, word for word, and the test that shows it."""
TESTED = {
    "The profiler ran, and there is no result": "never",
    "The last steps are missing": "cut",
    "There are no counters in kernel_details.csv": "level",
    "An option was ignored": "option",
    "There is no device data, and no error": "summary",
    'A forgotten .to("npu")': "mixed",
    "The timeline does not open": "",
    "MindInsight shows nothing of my run": "",
}
"""Complaint -> the case in which it happens; an empty one has a test of its own below."""


@frozen
class Said:
    """What a run told its user in each case, and the folder with its results."""

    cases: dict[str, str]
    folder: Path


@pytest.fixture(scope="module")
def said(scripts: Any) -> Said:
    done = scripts(SCRIPT, environment={"RANK": "0", "COLUMNS": "400"})
    return Said(dict(re.findall(r"^== (\w+)\n(.*?)(?=^== |\Z)", done.stdout, re.MULTILINE | re.DOTALL)), done.folder)


def quoted(complaint: str) -> list[str]:
    """What the page says that the user is told, without line breaks."""
    found = re.findall(r"^> .*(?:\n> .*)*", SECTIONS[complaint], re.MULTILINE)
    return [" ".join(text.replace("\n> ", " ").removeprefix("> ").split()) for text in found]


def test_every_complaint_has_its_test() -> None:
    assert set(SECTIONS) == {*TESTED, *ELSEWHERE}
    for file, name in ELSEWHERE.values():
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_every_promise_of_the_page_has_its_test() -> None:
    page = " ".join(PAGE.split())
    for claim, (file, name) in CLAIMS.items():
        assert claim in page
        assert f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_check_names_all_bad_values_at_once() -> None:
    assert "`drynpu check` names all such values of a configuration at once, before a run." in " ".join(PAGE.split())
    document = '{"export_type": "txt", "profiler_level": "Level9", "aic_metrics": "PipeUtilisation"}'
    command = [sys.executable, "-m", "drynpu", "check", document]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "the vendor goes on with its defaults"
    for option, default in (
        ("profiler_level", "ProfilerLevel.Level0"),
        ("aic_metrics", "default"),
        ("export_type", "text"),
    ):
        assert f"Invalid parameter {option}, reset it to {default}." in " ".join(done.stdout.split())


@pytest.mark.slow
@pytest.mark.parametrize("complaint", [name for name, case in TESTED.items() if case])
def test_the_user_is_told(said: Said, complaint: str) -> None:
    words = " ".join(said.cases[TESTED[complaint]].split())
    assert quoted(complaint)
    for text in quoted(complaint):
        assert text in words


@pytest.mark.slow
def test_what_went_well_has_no_complaint(said: Said) -> None:
    complaints = [text for name, case in TESTED.items() if case for text in quoted(name)]
    assert [text for text in complaints if text in " ".join(said.cases["whole"].split())] == []


@pytest.mark.slow
def test_the_timeline_is_whole_json_with_all_digits(said: Said) -> None:
    (file,) = said.folder.glob("whole/*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    events = json.loads(file.read_text(encoding="utf-8"))
    times = [event["ts"] for event in events if event["ph"] == "X"]
    assert times
    assert all(re.fullmatch(r"\d{16}\.\d{3}", time) for time in times)


@pytest.mark.slow
def test_a_run_of_pytorch_becomes_files_of_mindinsight(said: Said) -> None:
    command = [sys.executable, "-m", "drynpu", "export", "whole", "--to", "mindinsight", "-o", "summary"]
    assert " ".join(command[3:]).replace("whole", "DIR").replace("summary", "FOLDER") in PAGE
    done = subprocess.run(command, cwd=said.folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list((said.folder / "summary").rglob("step_trace_raw_0_detail_time.csv"))
