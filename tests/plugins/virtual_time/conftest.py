"""Scripts on virtual time, each in a process of its own, as a user starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RunScript = Callable[..., Any]


@pytest.fixture
def run_virtual(tmp_path: Path) -> RunScript:
    """Return a function that runs a script on virtual time and returns what it printed last, read as JSON."""

    def run(text: str, *options: str) -> Any:
        script = tmp_path / "script.py"
        script.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "drynpu", "run", "--quiet", "--time", "virtual", *options, str(script)]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture
def wall_clock() -> Callable[[], float]:
    """Return this machine's clock."""
    return time.monotonic
