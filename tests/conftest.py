"""Settings of the test tools that pyproject.toml cannot hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from hypothesis import settings

# Shared machines are slow at times, which is no failure; and CI should fail for the change at hand, not by chance.
# `make test` tries few examples of each property; `make fuzz` tries many.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.register_profile("fuzz", deadline=None, max_examples=int(os.environ.get("DRYNPU_EXAMPLES", "500")))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what ``one_of(n)`` leaves out: all but every n-th of the tests that it marks."""
    places: Counter[object] = Counter()
    for item in items:
        for node, mark in item.iter_markers_with_node("one_of"):
            marked = (item.parent, getattr(item, "originalname", None)) if node is item else node
            if places[marked] % mark.args[0]:
                item.add_marker("slow")
            places[marked] += 1


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


_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK", "MS_PROFILER")


@frozen
class Checked:
    """What ``drynpu check`` found in a script."""

    status: int
    document: dict[str, Any]
    lines: list[str]

    @property
    def names(self) -> set[str]:
        """The names of the mistakes."""
        return {each["name"] for each in self.document["mistakes"]}

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the mistakes of one name."""
        return [each for each in self.document["mistakes"] if each["name"] == name]

    def sources(self, name: str) -> list[str]:
        """Return the lines of the script that the mistakes of one name are at."""
        return [self.lines[each["line"] - 1].strip() for each in self.named(name) if each["line"]]


@pytest.fixture(scope="session")
def checked() -> Callable[..., Checked]:
    """Return a function that checks the text of a script in a folder, as a user would, and reads what was found."""

    def check(script: str, folder: Path, *options: str) -> Checked:
        (folder / "script.py").write_text(script, encoding="utf-8")
        environment = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
        command = [sys.executable, "-m", "drynpu", "check", "--json", *options, "script.py"]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
        )
        assert done.stdout, done.stderr
        return Checked(done.returncode, json.loads(done.stdout), script.splitlines())

    return check
