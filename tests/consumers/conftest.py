"""
The vendor's own tools, which live in an environment of their own and open what we write.

``make test-consumers`` makes that environment; a missing one is a failure, not a skip, so that nobody believes these
tests ran when they did not.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

ROOT = Path(__file__).parents[2]

Tool: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def msprof_analyze() -> Tool:
    """
    Return a function that runs ``msprof-analyze`` with the arguments it is given and returns the finished process.

    Its exit status says little (0 even when nothing was analysed), so look at the files and at ``[ERROR]`` lines;
    stdout and stderr come as one text.
    """
    folder = Path(os.environ.get("DRYNPU_CONSUMERS_VENV") or ROOT / ".venv-consumers")
    program = folder / "bin" / "msprof-analyze"
    if not program.is_file():
        pytest.fail(f"{program} is not there; make test-consumers sets it up (or set DRYNPU_CONSUMERS_VENV)")

    def run(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(program), *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            cwd=cwd,
            timeout=240,
        )

    return run
