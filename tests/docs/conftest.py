"""Scripts of PyTorch, and every option run on every chip, once for all tests of the page that says what they leave."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.torch.conftest import scripts, warm

__all__ = ["scripts", "warm"]

DOCS = Path(__file__).parents[2] / "docs"
Runs = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def checked(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Runs]:
    """The generator's check of the committed page, and what it found."""
    found = tmp_path_factory.mktemp("found") / "found.json"
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate_deliverables.py"), "--check", "--found", str(found)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.is_file(), done.stderr
    return done, json.loads(found.read_text(encoding="utf-8"))


@pytest.fixture
def runs(checked: tuple[subprocess.CompletedProcess[str], Runs]) -> Runs:
    return checked[1]
