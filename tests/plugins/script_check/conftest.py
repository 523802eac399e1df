"""Scripts checked as a user would check them; the command line in this process is the core's fixture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests.core.conftest import drynpu

__all__ = ["checked", "drynpu"]

_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK", "MS_PROFILER")


@frozen
class Checked:
    """What ``drynpu check`` found in a script."""

    status: int
    document: dict[str, Any]
    lines: list[str]

    @property
    def names(self) -> set[str]:
        """The names of the mistakes."""
        return {each["name"] for each in self.document["mistakes"]}

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the mistakes of one name."""
        return [each for each in self.document["mistakes"] if each["name"] == name]

    def sources(self, name: str) -> list[str]:
        """Return the lines of the script that the mistakes of one name are at."""
        return [self.lines[each["line"] - 1].strip() for each in self.named(name) if each["line"]]


@pytest.fixture(scope="session")
def checked() -> Callable[..., Checked]:
    """Return a function that checks the text of a script in a folder, as a user would, and reads what was found."""

    def check(script: str, folder: Path, *options: str) -> Checked:
        (folder / "script.py").write_text(script, encoding="utf-8")
        environment = {name: text for name, text in os.environ.items() if not name.startswith(_OURS)}
        command = [sys.executable, "-m", "drynpu", "check", "--json", *options, "script.py"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return Checked(done.returncode, json.loads(done.stdout), script.splitlines())

    return check
