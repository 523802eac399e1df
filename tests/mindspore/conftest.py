"""MindSpore scripts run as a user would run them, in processes of their own."""

from __future__ import annotations

import functools
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests import scripts as running
from tests.scripts import environment_without
from tests.warm_process import RECORDING, WarmProcess, warm_process

ROOT = Path(__file__).parents[2]
_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK_", "DEVICE_ID", "MS_", "MSMONITOR_", "GLOG_")
_QUIET = {"GLOG_v": "2", "COLUMNS": "120", "OMP_NUM_THREADS": "1"}
_OPTIONS = ("-W", "ignore")
_COMMAND = Path(__file__).with_name("command.py")
_ENTRY_POINTS = """[drynpu.adapters]
mindspore = drynpu_mindspore.plugin
mindspore_events = drynpu_mindspore_events.plugin
mindspore_kernels = drynpu_mindspore_kernels.plugin
mindspore_like = drynpu_mindspore_like.plugin
"""


@frozen
class Run(running.Run):
    """A finished process."""

    def logged(self, text: str) -> bool:
        """Whether MindSpore's log, or anything else on stderr, holds the text."""
        return text in self.stderr

    def runs(self, below: str = "data") -> list[Path]:
        """Run directories in *below*, oldest first."""
        return sorted((self.folder / below).glob("*_ascend_ms"))


class Scripts(running.Scripts[Run]):
    """Runs scripts in an environment without settings of drynpu or the vendor."""

    run_class = Run
    prefixes = _OURS
    settings = _QUIET
    python = (sys.executable, *_OPTIONS)
    read_late = ("DRYNPU_",)  # MindSpore reads its own, and the vendor's, when it is imported

    def __init__(self, new_folder: Callable[[], Path], python_path: str, warm: WarmProcess | None = None) -> None:
        super().__init__(new_folder, warm)
        self._python_path = python_path

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "PYTHONPATH": self._python_path}

    def simulated(self, script: str | Path, *arguments: str, before: str = "", **options: Any) -> Run:
        """Run a script under ``drynpu run``; *before*, lines of Python, run before drynpu puts its patches in place."""
        if not before and not self.runs_warm(options.get("environment")):
            return self(script, *arguments, program=(*self.python, "-m", "drynpu", "run"), **options)
        folder, path = self.placed(script, options.pop("folder", None))
        command = _COMMAND
        if before:
            command = folder / "command.py"
            command.write_text(before + _COMMAND.read_text(encoding="utf-8").partition("annotations\n")[2], "utf-8")
        return self(command, "run", path, *arguments, folder=folder, **options)

    def ranks(
        self,
        script: Path,
        *arguments: str,
        count: int = 2,
        status: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> list[Run]:
        """Run a script under ``drynpu run`` as *count* ranks in one folder, by msrun; their logs are their output."""
        folder = self.new_folder()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        here = Path(sys.executable).parent
        workers = [f"--worker_num={count}", f"--local_worker_num={count}", f"--master_port={port}", "--join=True"]
        under = ["--log_dir=logs", "python", "-W", "ignore", "-m", "drynpu", "run"]
        done = subprocess.run(
            [str(here / "msrun"), *workers, *under, str(script), *arguments],
            cwd=folder,
            env={**self.environment, "PATH": f"{here}{os.pathsep}{os.environ['PATH']}", **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        logs = [(folder / "logs" / f"worker_{rank}.log").read_text() for rank in range(count)]
        assert done.returncode == status, "".join(logs)
        return [Run(folder, done.returncode, log, log) for log in logs]


@pytest.fixture(scope="session")
def python_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = os.environ.get("PYTHONPATH", "")
    if not entry_points(group="drynpu.adapters", name="mindspore"):
        # A checkout that is not installed: its entry point comes from a folder on the path.
        folder = tmp_path_factory.mktemp("installed")
        about = folder / "drynpu-0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: drynpu\nVersion: 0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(_ENTRY_POINTS, encoding="utf-8")
        houses = [ROOT / "core", ROOT / "adapters" / "mindspore_like", *(ROOT / "plugins").glob("mindspore_*")]
        path = os.pathsep.join((*map(str, (folder, *houses)), path))
    return path


@pytest.fixture(scope="session")
def warm(python_path: str) -> Iterator[WarmProcess | None]:
    """
    Return a process that has imported MindSpore, which has one thread as long as nothing runs on it.

    The patches are put in place in its forks, as where a script imports MindSpore before drynpu is there.
    """
    environment = environment_without(_OURS, {**_QUIET, "PYTHONPATH": python_path})
    with warm_process(["mindspore", *RECORDING], environment, _OPTIONS) as process:
        yield process


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory, python_path: str, warm: WarmProcess | None) -> Scripts:
    return Scripts(functools.partial(tmp_path_factory.mktemp, "run"), python_path, warm)


@pytest.fixture(scope="session")
def workloads(scripts: Scripts) -> Callable[[str], dict[str, Any]]:
    """Return what was captured of the networks of ``workloads.py``, by name; each mode runs once."""

    @functools.cache
    def captured(mode: str) -> dict[str, Any]:
        run = scripts(Path(__file__).with_name("workloads.py"), mode, "captured.pickle")
        by_name: dict[str, Any] = pickle.loads((run.folder / "captured.pickle").read_bytes())
        return by_name

    return captured
