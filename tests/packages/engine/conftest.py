"""
vLLM with vLLM-Ascend in an environment of their own, which ``make test-engine`` makes; a missing one is a failure.

The tests make the models. The engine records its profiles itself, as on a device.
"""

from __future__ import annotations

import csv
import functools
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
OFFLINE = {"HF_HUB_OFFLINE": "1", "VLLM_LOGGING_LEVEL": "WARNING", "VLLM_NO_USAGE_STATS": "1"}


@pytest.fixture(scope="session")
def programs() -> Path:
    folder = Path(os.environ.get("DRYNPU_ENGINE_VENV") or ROOT / ".venv-engine") / "bin"
    if not (folder / "vllm").is_file():
        pytest.fail(f"{folder / 'vllm'} is not there; make test-engine sets it up (or set DRYNPU_ENGINE_VENV)")
    return folder


@pytest.fixture
def offline(execute: Callable[..., str]) -> Callable[..., str]:
    """Run a program of the environment without any hub and return what it printed."""
    return functools.partial(execute, **OFFLINE)


@pytest.fixture
def program(offline: Callable[..., str]) -> Callable[..., Any]:
    """Run a script of this folder in the environment and return what it printed behind ``RESULT``."""

    def run(script: str, *arguments: str, **variables: str) -> Any:
        text = offline("python", str(Path(__file__).with_name(script)), *arguments, **variables)
        return json.loads(text.partition("RESULT ")[2].splitlines()[0])

    return run


@pytest.fixture
def model(execute: Callable[..., str], tmp_path: Path) -> Callable[..., str]:
    """Make a tiny model and return its folder."""

    def make(kind: str, *options: str) -> str:
        folder = str(tmp_path / kind)
        execute("python", str(ROOT / "examples" / "serving" / "tiny_model.py"), folder, "--kind", kind, *options)
        return folder

    return make


@pytest.fixture
def part(execute: Callable[..., str], tmp_path: Path) -> Callable[[str, str], str]:
    """Make a draft, an adapter or a quantised model from a model, and return its folder."""

    def make(what: str, model: str) -> str:
        folder = str(tmp_path / what)
        execute("python", str(Path(__file__).with_name("parts.py")), what, model, folder)
        return folder

    return make


@pytest.fixture
def kernel_types() -> Callable[[Path], Counter[str]]:
    """Return a function that counts the kernels of a profile by type; it fails where an operator had no rule."""

    def count(profile: Path) -> Counter[str]:
        assert json.loads((profile / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"] == {}
        table = profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
        return Counter(row["Type"] for row in csv.DictReader(table.read_text().splitlines()))

    return count
