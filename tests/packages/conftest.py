"""
Public packages in an environment of their own, which ``make test-packages`` makes; a missing one is a failure.

Every script of ``scripts/`` runs twice, unchanged: as plain Python, where it has to find the CPU although drynpu is
installed, and under ``drynpu run --profile``, where it has to find the NPU and leave a profile.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from attrs import field, frozen

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).with_name("scripts")
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "KINETO_LOG_LEVEL": "99",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}


@frozen
class Outcome:
    """What a script printed behind ``RESULT``, and the profiles that it left."""

    result: dict[str, Any]
    text: str
    profiles: list[Path] = field(factory=list)

    @property
    def kernels(self) -> int:
        """How many kernels the profiles hold."""
        return len(self._rows)

    @property
    def kernel_types(self) -> set[str]:
        """Types of the kernels in the profiles."""
        return {row["Type"] for row in self._rows}

    @property
    def _rows(self) -> list[dict[str, str]]:
        tables = [profile / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv" for profile in self.profiles]
        return [row for table in tables for row in csv.DictReader(table.read_text().splitlines())]

    @property
    def unmapped(self) -> dict[str, int]:
        """Operators that no kernel rule knows."""
        found: dict[str, int] = {}
        for profile in self.profiles:
            found |= json.loads((profile / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"]
        return found


Run: TypeAlias = Callable[..., Outcome]


@pytest.fixture(scope="session")
def programs() -> Path:
    folder = Path(os.environ.get("DRYNPU_PACKAGES_VENV") or ROOT / ".venv-packages") / "bin"
    if not (folder / "drynpu").is_file():
        pytest.fail(f"{folder / 'drynpu'} is not there; make test-packages sets it up (or set DRYNPU_PACKAGES_VENV)")
    return folder


@pytest.fixture
def execute(programs: Path, tmp_path: Path) -> Callable[..., str]:
    """Return a function that runs a program of the environment in a folder of its own and returns what it printed."""

    def run(*command: str, folder: str = "run", beside: str = "", limit_s: int = 800, **variables: str) -> str:
        where = tmp_path / folder
        where.mkdir(exist_ok=True)
        ours = ("PYTHON", "DRYNPU", "ASCEND", "CUDA")
        kept = {name: text for name, text in os.environ.items() if not name.startswith(ours)}
        path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
        if beside:
            path["PYTHONPATH"] = str(programs.parent / beside)
        done = subprocess.run(
            [str(programs / command[0]), *command[1:]],
            capture_output=True,
            text=True,
            check=False,
            cwd=where,
            env={**kept, **path, **QUIET, **_devices(os.environ), **variables},
            timeout=limit_s,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-8000:]}"
        return done.stdout

    return run


@pytest.fixture
def plain(execute: Callable[..., str]) -> Run:
    """Run a script as plain Python."""

    def run(script: str, *arguments: str, launcher: tuple[str, ...] = ("python",), **options: str) -> Outcome:
        text = execute(*launcher, str(SCRIPTS / script), *arguments, folder="plain", **options)
        return Outcome(_result(text), text)

    return run


@pytest.fixture
def simulated(execute: Callable[..., str], tmp_path: Path) -> Run:
    """Run a script, or a launcher that starts it, under ``drynpu run --profile``."""

    def run(script: str, *arguments: str, launcher: tuple[str, ...] = (), **options: str) -> Outcome:
        profiled = ("drynpu", "run", "--quiet", "--profile", "--profile-steps", "all", "--profile-output", "profiles")
        text = execute(*profiled, *launcher, str(SCRIPTS / script), *arguments, folder="npu", **options)
        return Outcome(_result(text), text, sorted((tmp_path / "npu" / "profiles").glob("*_ascend_pt")))

    return run


def _result(text: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith("RESULT ")]
    found: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
    return found


def _devices(environment: Mapping[str, str]) -> dict[str, str]:
    """Let the caller choose between the sink and the native device."""
    return {name: environment[name] for name in ("DRYNPU_DEVICE",) if name in environment}
