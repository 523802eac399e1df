"""``drynpu loadtest`` as a user starts it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is here")
def test_one_line_says_what_to_install(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "drynpu", "loadtest", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "loadtest drives vLLM, and vllm and vllm_ascend cannot be imported here" in done.stderr
    assert len(done.stderr.splitlines()) == 1
