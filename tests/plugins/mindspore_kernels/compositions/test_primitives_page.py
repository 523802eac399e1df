"""The generated list of primitives fits the installed MindSpore."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

GENERATOR = Path(__file__).parents[4] / "docs" / "generate_mindspore_primitives.py"


def test_the_page_of_primitives_is_up_to_date(scripts: Any) -> None:
    command = [sys.executable, "-W", "ignore", str(GENERATOR), "--check"]
    environment = {**os.environ, **scripts.environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
