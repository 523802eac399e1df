"""The native device, built once, and scripts that run on it in processes of their own: a process has one npu."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from drynpu_torch.extension import build, find_build, find_compiler


@pytest.fixture(scope="session", autouse=True)
def library() -> Path:
    """Build the device where that was not done before."""
    if not find_build().done and find_compiler() is None:
        pytest.skip("no C++ compiler")
    return build().path


Run = Callable[..., Any]


@pytest.fixture
def run() -> Run:
    """Return a function that runs a script on the native device and returns what its last line says as JSON."""

    def run_script(script: str | Path, *arguments: str, device: str = "native", **environ: str) -> Any:
        command = [sys.executable, "-c", script] if isinstance(script, str) else [sys.executable, str(script)]
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
        done = subprocess.run(
            [*command, *arguments],
            env={**kept, "DRYNPU_DEVICE": device, "DRYNPU_QUIET": "1", **environ},
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run_script
