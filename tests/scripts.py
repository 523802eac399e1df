"""Scripts run as a user would run them, and what they say; the conftest.py of a framework adds what they leave."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from attrs import frozen
from tests.warm_process import WarmProcess

PYTHON = (sys.executable,)
FRESH = {"FRESH_PROCESS": "1"}
"""The environment of a script that shows how its process starts: its imports, its forks, its stack, say."""


@frozen
class Run:
    """A finished process."""

    folder: Path
    status: int
    stdout: str
    stderr: str
    pid: int = 0

    def printed(self, name: str) -> Any:
        """Return the JSON value that the script printed after ``<name>=``."""
        (line,) = [line for line in self.stdout.splitlines() if line.startswith(f"{name}=")]
        return json.loads(line.partition("=")[2])


R = TypeVar("R", bound=Run)


def environment_without(prefixes: tuple[str, ...], settings: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment with these settings, without variables whose names begin so."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith(prefixes)}, **settings}


class Scripts(Generic[R]):
    """Runs scripts to their end, in an environment without settings of drynpu or the vendor."""

    run_class: ClassVar[type[Run]] = Run
    prefixes: ClassVar[tuple[str, ...]] = ()
    """Begin the names of variables that scripts do not see unless a test sets them."""
    settings: ClassVar[Mapping[str, str]] = {}
    """Variables of every script."""
    python: ClassVar[tuple[str, ...]] = PYTHON
    read_late: ClassVar[tuple[str, ...]] = ()
    """Begin the names of variables that nothing reads before a script runs; with others it runs in a fresh process."""

    def __init__(self, new_folder: Callable[[], Path], warm: WarmProcess | None = None) -> None:
        self.new_folder = new_folder
        self._warm = warm

    @property
    def environment(self) -> dict[str, str]:
        """What every script sees."""
        return environment_without(self.prefixes, self.settings)

    def runs_warm(self, environment: Mapping[str, str] | None) -> bool:
        """Return whether a script with these variables can run in a fork of a warm process."""
        return self._warm is not None and all(name.startswith(self.read_late) for name in environment or ())

    def start(
        self,
        script: str | Path,
        *arguments: str | Path,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = (),
    ) -> tuple[Path, subprocess.Popen[str]]:
        """Start a script, given as a path or as its text, and return its working directory and the process."""
        folder, script = self.placed(script, folder)
        process = subprocess.Popen(
            [*(program or self.python), str(script), *map(str, arguments)],
            cwd=folder,
            env={**self.environment, **(environment or {})},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return folder, process

    def __call__(
        self,
        script: str | Path,
        *arguments: str | Path,
        status: int = 0,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        program: Sequence[str] = (),
        timeout_s: float = 800,
    ) -> R:
        """Run a script, given as a path or as its text, to its end, which has to be the expected one."""
        folder, script = self.placed(script, folder)
        if program or not self.runs_warm(environment):
            _, process = self.start(script, *arguments, folder=folder, environment=environment, program=program)
            try:
                stdout, stderr = process.communicate(timeout=timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise
            pid, ended = process.pid, process.returncode
        else:
            command = [str(script), *map(str, arguments)]
            assert self._warm is not None
            pid, done = self._warm.run(command, folder, {**self.environment, **(environment or {})}, timeout_s)
            ended, stdout, stderr = done.returncode, done.stdout, done.stderr
        assert ended == status, f"{stdout}\n{stderr}"
        return self.run_class(folder, ended, stdout, stderr, pid)  # type: ignore[return-value]

    def placed(self, script: str | Path, folder: Path | None) -> tuple[Path, Path]:
        """Return the folder to run in and the path of the script, which is written there if it is a text."""
        folder = folder or self.new_folder()
        if isinstance(script, Path):
            return folder, script
        path = folder / "script.py"
        path.write_text(script, encoding="utf-8")
        return folder, path
