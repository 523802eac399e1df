"""Ways to call the command line, and a result directory to call it on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import frozen


@frozen
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def process(tmp_path: Path) -> Callable[..., Ended]:
    """Return a function that runs ``python -m drynpu`` in a process of its own, from the test's folder."""

    def call(*arguments: object, environment: Mapping[str, str] | None = None, python: tuple[str, ...] = ()) -> Ended:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
        command = [sys.executable, *python, "-m", "drynpu", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=tmp_path, env={**clean, **(environment or {})}, capture_output=True, text=True
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    return call
