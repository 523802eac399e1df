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

from tests.torch.conftest import may_be_warm
from tests.warm_process import WarmProcess

from drynpu_torch.extension import build, find_build, find_compiler


@pytest.fixture(scope="session", autouse=True)
def library() -> Path:
    """Build the device where that was not done before."""
    if not find_build().done and find_compiler() is None:
        pytest.skip("no C++ compiler")
    return build().path


Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, warm: WarmProcess | None) -> Run:
    """Return a function that runs a script on the native device and returns what its last line says as JSON."""

    def run_script(script: str | Path, *arguments: str, device: str = "native", **environ: str) -> Any:
        path = tmp_path / "script.py"
        if isinstance(script, str):
            path.write_text(script, encoding="utf-8")
        command = [str(path if isinstance(script, str) else script), *arguments]
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
        environment = {**kept, "DRYNPU_DEVICE": device, "DRYNPU_QUIET": "1", **environ}
        if warm is None or not may_be_warm(environ):
            done = subprocess.run(
                [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
            )
        else:
            _, done = warm.run(command, Path.cwd(), environment, 250)
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    return run_script
