"""The page of the architecture: its files and names exist, and a recording really takes the ways that it describes."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu_torch.extension import find_build

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_STOPS = 12

# Notes the first call of each function of drynpu while the script of the page runs, with the files that led there.
FOLLOW = """
import json, sys, threading
import torch, torch_npu
calls = {{}}

def place(code):
    file = code.co_filename.removeprefix({root!r} + "/")
    return file if file.startswith(("core/", "adapters/")) else ""

def note(frame, event, _):
    # What saves finished steps maps operators as well, at times of its own.
    if threading.current_thread().name == "drynpu-journal":
        return
    file = place(frame.f_code)
    call = file + " " + frame.f_code.co_name
    if event == "call" and file and call not in calls:
        calls[call] = []
        while frame:
            calls[call].append(place(frame.f_code))
            frame = frame.f_back

threading.setprofile(note)
sys.setprofile(note)
{script}
sys.setprofile(None)
threading.setprofile(None)
with open("calls.json", "w") as file:
    json.dump(calls, file)
"""

WALKS = {
    title: re.findall(r"^\| \d+ \| `([^`]+)` \| (?:`(\w+)`)? ?\|", text, re.MULTILINE)
    for title, text in re.findall(r"^### (One \w+)[^\n]*\n(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
}
"""What is followed -> file and function of each stop; no function where a file is read or imported."""
_CAPTURE = "adapters/torch/drynpu_torch/capture"
BY_SINK = {f"{_CAPTURE}/_columns.py": f"{_CAPTURE}/_kineto.py"}
"""File of the page -> file that serves instead where the native device has not been built."""


def _section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _rows() -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in _section("Rooms").splitlines() if "| `" in line
    ]


def test_the_files_of_the_page_exist() -> None:
    named = set(re.findall(r"`((?:core|adapters|tests|examples)/[\w./-]+)`", PAGE))
    assert len(named) > 30
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_rooms_stand_in_the_order_of_imports() -> None:
    tree = ast.parse((ROOT / "tests" / "test_house.py").read_text(encoding="utf-8"))
    (rooms,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ROOMS"
    )
    assert [row[0].strip("`") for row in _rows()] == list(rooms)


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row[0].strip("`"))
def test_the_key_names_of_a_room_are_there(row: list[str]) -> None:
    room = row[0].strip("`")
    others = {
        "deliverables": ["record_group"],
        "exporters": ["registry"],
        "layouts": ["tasks", "schedulers", "counters"],
        "views": ["runs", "page", "terminal"],
    }
    places = [f"drynpu.{room}", *(f"drynpu.{room}.{part}" for part in others.get(room, ()))]
    modules = [importlib.import_module(place) for place in places]
    names = re.findall(r"`(\w+)`", row[3])
    assert names
    assert [name for name in names if not any(hasattr(module, name) for module in modules)] == []


def test_the_page_follows_an_operator_a_mark_and_an_option() -> None:
    assert list(WALKS) == ["One operator", "One mark", "One option"]


@pytest.mark.parametrize("walk", WALKS)
def test_a_way_passes_each_file_once(walk: str) -> None:
    files = [file for file, _ in WALKS[walk]]
    assert 8 < len(files) <= MOST_STOPS
    assert len(set(files)) == len(files)
    assert "/vendor/" in files[0]
    assert files[-1].startswith("core/drynpu/deliverables/")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the script of the page ran, with the functions that were called."""
    folder = tmp_path_factory.mktemp("followed")
    (script,) = re.findall(r"```python\n(.*?)```", _section("Following a recording"), re.DOTALL)
    (folder / "follow.py").write_text(FOLLOW.format(root=str(ROOT), script=script), encoding="utf-8")
    environment = {
        **os.environ,
        "RANK": "0",
        "DRYNPU_QUIET": "1",
        "DRYNPU_CHIP": "Ascend910B2",
        "KINETO_LOG_LEVEL": "99",
    }
    done = subprocess.run(
        [sys.executable, "follow.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_a_recording_takes_the_way(recorded: Path, walk: str) -> None:
    callers = json.loads((recorded / "calls.json").read_text())
    calls = {call: place for place, call in enumerate(callers)}
    sink = not find_build().done
    stops = [f"{BY_SINK.get(file, file) if sink else file} {function}" for file, function in WALKS[walk] if function]
    assert [stop for stop in stops if stop not in calls] == []
    assert sorted(stops, key=calls.__getitem__) == stops
    (most,) = re.findall(r"callers\s+counted\s+as\s+well,\s+a\s+way\s+passes\s+at\s+most\s+(\d+)\s+files", PAGE)
    assert len({file for stop in stops for file in callers[stop] if file}) <= int(most)


@pytest.mark.slow
def test_the_ways_end_in_their_files(recorded: Path) -> None:
    (result,) = recorded.glob("out/*_ascend_pt")
    kernels = (result / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").read_text()
    assert "MatMulV2" in kernels
    (marks,) = result.glob("PROF_*/mindstudio_profiler_output/msprof_tx_*.csv")
    assert ",here," in marks.read_text()
    (memory,) = result.glob("PROF_*/mindstudio_profiler_output/hbm_*.csv")
    assert len(memory.read_text().splitlines()) > 1
    raw = {path.name for path in result.glob("PROF_*/*/data/*.slice_0")}
    shown = set(re.findall(r"`([\w.]+\.slice_0)`", _section("Following a recording")))
    assert len(shown) == 3
    assert shown <= raw
