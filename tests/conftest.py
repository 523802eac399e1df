"""Settings of the test tools that pyproject.toml cannot hold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines are slow at times, which is no failure; and CI should fail for the change at hand, not by chance.
# `make test` tries few examples of each property; `make fuzz` tries many.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ, max_examples=40)
settings.register_profile("fuzz", deadline=None, max_examples=int(os.environ.get("DRYNPU_EXAMPLES", "500")))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))

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
