"""Settings of the test tools that pyproject.toml cannot hold."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines are slow at times, which is no failure; and CI should fail for the change at hand, not by chance.
# `make test` tries few examples of each property; `make fuzz` tries many.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.register_profile("fuzz", deadline=None, max_examples=int(os.environ.get("DRYNPU_EXAMPLES", "500")))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


def may_be_slow(path: Path) -> bool:
    """Return whether a file may have slow tests: its text names a mark of theirs."""
    return re.search(r"slow|one_of", path.read_text(encoding="utf-8")) is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of quick tests for a run of the slow ones: that is most of what it would import."""
    slow_ones = config.getoption("markexpr").startswith("slow")
    return True if slow_ones and collection_path.suffix == ".py" and not may_be_slow(collection_path) else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """
    Mark as slow what ``one_of(n)`` leaves out: all but every n-th of the tests that it marks.

    Raises
    ------
    pytest.UsageError
        A slow test would be left out of a run of the slow ones.
    """
    places: Counter[object] = Counter()
    for item in items:
        for node, mark in item.iter_markers_with_node("one_of"):
            marked = (item.parent, getattr(item, "originalname", None)) if node is item else node
            if places[marked] % mark.args[0]:
                item.add_marker("slow")
            places[marked] += 1
    every = list(items)
    yield
    for path in sorted({item.path for item in every if item.get_closest_marker("slow")}):
        if not may_be_slow(path):
            raise pytest.UsageError(f"{path} has a slow test and names neither slow nor one_of; say so in a comment")


_PLUGIN = """
from drynpu.deliverables.record_group import RecordGroup
from drynpu.plugins import hookimpl


def csv_files(profile, writer):
    return {"launches": profile.kernels.group_by("op_type").len("launches").sort("op_type").cast(str)}


@hookimpl
def drynpu_record_groups():
    return (RecordGroup(name="launches", csv_files=csv_files, readme={"launches.csv": "Launches by type."}),)
"""


@pytest.fixture
def third_party_group(tmp_path: Path) -> Path:
    """Return a folder for PYTHONPATH with a plugin, installed there, whose record group leaves ``launches_*.csv``."""
    folder = tmp_path / "site"
    installed = folder / "launches_by_type-1.0.dist-info"
    installed.mkdir(parents=True)
    (folder / "launches_by_type.py").write_text(_PLUGIN, encoding="utf-8")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: launches-by-type\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[drynpu.adapters]\nlaunches = launches_by_type\n")
    return folder
