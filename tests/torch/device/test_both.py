"""One set of tests over both devices: a process has one, so the tests run once more on the other one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu_torch.extension import build, find_build, find_compiler

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
SHARED = ("amp", "copies", "devices", "factories", "limits", "memory", "random", "storage", "streams")


def test_the_other_device_passes_the_same_tests(native: bool) -> None:
    if not native and not find_build().done:
        if find_compiler() is None:
            pytest.skip("no C++ compiler")
        build()
    beside = ("capture/test_capture.py", "profiler/test_forked.py")
    files = [*(HERE / f"test_{name}.py" for name in SHARED), *(HERE.parent / name for name in beside)]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *map(str, files)],
        env={**os.environ, "DRYNPU_DEVICE": "sink" if native else "native"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
