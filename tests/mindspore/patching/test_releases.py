"""A MindSpore that differs from what the patches expect: the script trains, and one line says what is lost."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.scripts import FRESH

TRAINING = Path(__file__).with_name("training.py")
PRETEND = """
import sys

from drynpu_mindspore.inside import graph_module
from drynpu_mindspore.patching import _install

genuine = _install.install


def install(package):
    pretend(package)
    genuine(package)


_install.install = install
"""
MOVED = """
def pretend(package):
    def fails(*arguments):
        raise KeyError("mindspore.moved")

    _install.replace_init = fails
    sys.modules["mindspore.train.callback._callback"] = None
    moved = graph_module().__name__
    sys.modules["mindspore.elsewhere"] = sys.modules[moved]
    sys.modules[moved] = None
    del package.nn.Cell.cell_init_args
"""
NEWER = """
def pretend(package):
    package.__version__ = "2.99.0"
"""
NO_SURFACE = """
def pretend(package):
    def fails(*arguments):
        raise AttributeError("log")

    _install.build_surface = fails
"""
NOTHING_FITS = """
def pretend(package):
    raise TypeError("not as it was")
"""
NO_CAPTURE = """
def pretend(package):
    from mindspore import _c_expression

    from drynpu_mindspore.capture import _graphs

    def fails(text):
        raise ValueError("another form of graphs")

    del _c_expression.Profiler
    _graphs.read_kernel_graphs = fails
"""


def said(run: Any) -> list[str]:
    return [line for line in run.stderr.splitlines() if line.startswith("[drynpu] MindSpore ")]


def kernels(run: Path) -> int:
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(encoding="utf-8", newline="") as stream:
        return len(list(csv.DictReader(stream)))


@pytest.fixture(scope="module")
def losses(scripts: Any) -> Any:
    return scripts(TRAINING, "CPU").printed("losses")


@pytest.mark.parametrize(
    ("pretence", "lost"),
    [
        pytest.param(
            MOVED,
            [
                "ranks (communication.init)",
                "KeyError: 'mindspore.moved'",
                "steps of Model.train",
                "lazy_inline",
                "the wait for operators of PyNative",
                "graphs split over ranks",
                "bf16 and fp16",
            ],
            id="moved",
        ),
        pytest.param(
            NEWER,
            [
                "operators that only Ascend has",
                "bf16 and fp16 in kernels of the CPU",
                "graphs split over ranks",
                "shapes of operators that others call inside",
                "events of the host",
            ],
            id="newer",
        ),
    ],
)
def test_one_line_names_all_that_is_lost_and_the_rest_is_there(
    scripts: Any, losses: Any, pretence: str, lost: list[str]
) -> None:
    run = scripts.simulated(TRAINING, "Ascend", before=PRETEND + pretence)
    assert run.printed("losses") == losses
    assert [kernels(each) > 10 for below in ("data", "pynative") for each in run.runs(below)] == [True, True]
    (line,) = said(run)
    assert [part for part in lost if part not in line] == []


@pytest.mark.parametrize(
    ("pretence", "reason", "environment"),
    [
        pytest.param(NO_SURFACE, "AttributeError: log", {}, id="no surface"),
        pytest.param(NOTHING_FITS, "not as it was", FRESH, id="nothing fits while the script imports"),
    ],
)
def test_without_any_patch_a_script_for_the_cpu_trains(
    scripts: Any, losses: Any, pretence: str, reason: str, environment: dict[str, str]
) -> None:
    run = scripts.simulated(TRAINING, "CPU", before=PRETEND + pretence, environment=environment)
    assert run.printed("losses") == losses
    (line,) = [line for line in run.stderr.splitlines() if line.startswith("[drynpu] ")]
    assert reason in line
    assert "Fatal Python error" not in run.stderr


def test_a_recording_that_mindspore_gives_little_for_is_written_with_notes(scripts: Any, losses: Any) -> None:
    run = scripts.simulated(TRAINING, "Ascend", before=PRETEND + NO_CAPTURE, environment={"DRYNPU_QUIET": "1"})
    assert run.printed("losses") == losses
    for below in ("data", "pynative"):
        (left,) = run.runs(below)
        (note,) = json.loads((left / "profiler_metadata.json").read_text())["drynpu"]["run_notes"]
        assert note.startswith("launches of operators cannot be recorded, everything else is: AttributeError")
    (graph,) = run.runs("data")
    assert "another form of graphs" in (graph / "profiler_metadata.json").read_text()
    assert (graph / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").exists()
    assert said(run) == []


def test_another_release_with_quiet_says_nothing(scripts: Any) -> None:
    script = "import mindspore\nprint('names=1')"
    run = scripts.simulated(script, before=PRETEND + NEWER, environment={"DRYNPU_QUIET": "1"})
    assert run.printed("names") == 1
    assert said(run) == []
