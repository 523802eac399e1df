"""Runs to look at: one that is recorded here, and genuine ones where they are at hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from drynpu.products import export_result, load_profile, result_forms
from drynpu.views.runs import Run, RunFolder, View, find_runs

GENUINE = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[4] / "shared" / "data"))


@pytest.fixture
def recorded(profile: Callable[[Path], Path], tmp_path: Path) -> Path:
    """A result directory of two steps with its deliverables, in a folder of its own."""
    directory = profile(tmp_path / "runs" / "host_77_20250109074803000_ascend_pt")
    loaded = load_profile(directory)
    export_result(loaded, result_forms(loaded))
    return directory


@pytest.fixture
def view(recorded: Path) -> View:
    run = Run.from_path(recorded)
    return View(run, run.rank())


def genuine_runs() -> list[RunFolder]:
    return find_runs(GENUINE) if GENUINE.is_dir() else []


@pytest.fixture(params=[*genuine_runs()] or [None], ids=lambda run: "none" if run is None else run.name[-60:])
def genuine(request: pytest.FixtureRequest) -> Run:
    if request.param is None:
        pytest.skip(f"no genuine profiles in {GENUINE}")
    return Run.from_folder(request.param)
