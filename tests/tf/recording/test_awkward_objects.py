"""Objects of the script that raise when they are looked at: a session trains and records beside each, and with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("awkward_objects.py")
KINDS = ("class_raises", "instances_raise", "references", "collected", "module_raises")
OPTIONS = ("task_time", "training_trace", "aicpu", "metrics", "host")


@pytest.fixture(scope="module")
def run(scripts: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("run")
    for kind in ("nothing", *KINDS):
        for option in OPTIONS:
            (folder / f"{kind}-{option}").mkdir()
    return scripts(SCRIPT, folder=folder, environment={"DRYNPU_QUIET": "1"})


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_training_and_recording_are_the_same_beside_it(run: Any, kind: str, option: str) -> None:
    losses = run.printed("losses")
    assert losses[f"{kind}-{option}"] == losses[f"nothing-{option}"]
    alone, beside = (run.prof(f"{each}-{option}") for each in ("nothing", kind))
    assert beside.stems == alone.stems
    for stem in alone.stems & {"op_summary.csv", "task_time.csv"}:
        name = {"op_summary.csv": "Op Name", "task_time.csv": "kernel_name"}[stem]
        assert len(beside.column(Path(stem).stem, name)) == len(alone.column(Path(stem).stem, name)) > 0


def test_nothing_was_lost(run: Any) -> None:
    assert "cannot be recorded" not in run.stderr
    assert "no profile was written" not in run.stderr
