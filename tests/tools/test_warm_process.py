"""A script in a fork of a process that has imported its modules sees and leaves what one in a fresh process does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.warm_process import warm_process

SCRIPT = """
import atexit, os, sys
import decimal

atexit.register(print, "over")
print(__name__, __file__ == sys.argv[0], sys.argv[1:], os.getcwd(), os.environ["COLOUR"], sys.path[0])
print("aside", file=sys.stderr)
if sys.argv[1] == "exit":
    sys.exit(7)
if sys.argv[1] == "fail":
    {}["missing"]
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot tell that a fork ends")
@pytest.mark.parametrize(("how", "status"), [("return", 0), ("exit", 7), ("fail", 1)])
def test_a_script_runs_as_in_a_fresh_process(tmp_path: Path, how: str, status: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "COLOUR": "blue"}
    fresh = subprocess.run(
        [sys.executable, str(script), how], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    with warm_process(["decimal"], {**os.environ, "COLOUR": "red"}) as warm:
        assert warm is not None or "DRYNPU_TEST_FRESH" in os.environ
        if warm is not None:
            number, done = warm.run([str(script), how], tmp_path, environment, 60)
            assert number != os.getpid()
            assert (done.returncode, done.stdout, done.stderr) == (fresh.returncode, fresh.stdout, fresh.stderr)
    assert fresh.returncode == status


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system cannot tell that a fork ends")
def test_a_script_that_takes_too_long_is_killed_and_hinders_no_other(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import time\ntime.sleep(60)\n")
    with warm_process([], os.environ) as warm:
        if warm is not None:
            with pytest.raises(subprocess.TimeoutExpired):
                warm.run([str(script)], tmp_path, os.environ, 0.2)
            script.write_text("print('the next one runs')\n")
            _, done = warm.run([str(script)], tmp_path, os.environ, 60)
            assert done.stdout == "the next one runs\n"
