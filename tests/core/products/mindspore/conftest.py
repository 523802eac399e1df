"""A run directory of MindSpore made by hand, exported once; and readers that know nothing of ours."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from attrs import frozen

from drynpu.options import ExportType
from drynpu.products import export_mindspore, load_profile
from drynpu.tables import Profile


@frozen
class Session:
    """An exported run directory."""

    path: Path
    profile: Profile
    files: tuple[Path, ...]

    @property
    def names(self) -> set[str]:
        return {file.name for file in self.files}

    def rows(self, name: str) -> list[dict[str, str]]:
        with (self.path / "ASCEND_PROFILER_OUTPUT" / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def header(self, name: str) -> list[str]:
        with (self.path / "ASCEND_PROFILER_OUTPUT" / name).open(encoding="utf-8", newline="") as stream:
            return next(csv.reader(stream))

    def document(self, name: str) -> Any:
        return json.loads((self.path / "ASCEND_PROFILER_OUTPUT" / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def hand() -> ModuleType:
    """Return the module that makes recordings."""
    path = Path(__file__).with_name("hand_made.py")
    spec = importlib.util.spec_from_file_location("mindspore_hand_made", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def finish(path: Path, forms: list[ExportType] | None = None) -> Session:
    profile = load_profile(path)
    return Session(path, profile, tuple(export_mindspore(profile, forms)))


@pytest.fixture
def export(hand: ModuleType, tmp_path: Path) -> Callable[..., Session]:
    """Return a function that records with changed settings and exports."""

    def make(forms: list[ExportType] | None = None, *, pipeline: bool = False, **changed: Any) -> Session:
        path = hand.record(tmp_path, **changed)
        if pipeline:
            hand.write_pipeline(path)
        return finish(path, forms)

    return make


@pytest.fixture(scope="session")
def session(hand: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Everything at once: three steps with communication, marks, memory, shapes and a data pipeline; both forms."""
    path = hand.record(tmp_path_factory.mktemp("mindspore"))
    hand.write_pipeline(path)
    return finish(path, list(ExportType))
