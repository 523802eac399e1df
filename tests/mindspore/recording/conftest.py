"""Directories made by hand and by a real run, and the vendor's own analysis of both."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

HERE = Path(__file__).parent
HAND_MADE = HERE.parents[1] / "core" / "products" / "mindspore" / "hand_made.py"


@pytest.fixture(scope="session")
def hand() -> ModuleType:
    """Return the module that makes recordings by hand."""
    spec = importlib.util.spec_from_file_location("mindspore_hand_made", HAND_MADE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def recorded(scripts: Any) -> Any:
    """Return the finished process of ``record_all.py``: one process, every kind of recording."""
    return scripts(HERE / "record_all.py", environment={"DRYNPU_QUIET": "1"})
