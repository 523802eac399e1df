"""A short slice of ``make torture``: the core alone, one call of each fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TORTURE = Path(__file__).parents[1] / "torture" / "torture.py"


def test_disturbed_recordings_leave_whole_files_and_no_traceback() -> None:
    command = [sys.executable, str(TORTURE), "core", "--calls", "1", "--times", "1", "--seed", "11"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    if "SKIPPED: no C compiler" not in run.stdout:
        cases = int(run.stdout.splitlines()[-2].split()[1])
        # One call for each of five faults and one random time, with or without five small file systems.
        assert cases in (6, 11)
