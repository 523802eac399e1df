"""The page of operators says what the code has."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_tables_follow_the_code() -> None:
    command = [sys.executable, ROOT / "docs" / "generate_operators.py", "--check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr or "run docs/generate_operators.py"
    page = (ROOT / "docs" / "torch-operators.md").read_text()
    assert "| `npu_rms_norm` | RmsNorm | float32, float16, bfloat16 | yes |" in page
    assert "`npu_sub_sample`" in page.partition("## Refused")[2]
