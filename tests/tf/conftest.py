"""TensorFlow scripts run as a user would run them, and the PROF directories they leave."""

from __future__ import annotations

import csv
import functools
import json
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from tests import scripts as running
from tests.scripts import environment_without
from tests.warm_process import RECORDING, warm_process

ROOT = Path(__file__).parents[2]
_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK_", "DEVICE_ID", "JOB_ID", "TF_CONFIG", "HCCL_", "CM_")
_QUIET = {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "2", "COLUMNS": "120"}

PYTHON = (sys.executable, "-W", "ignore")

Row = dict[str, str]


@frozen
class Prof:
    """One PROF directory."""

    path: Path

    @property
    def folder(self) -> Path:
        return self.path / "mindstudio_profiler_output"

    @property
    def stems(self) -> set[str]:
        """Names of the results without their time stamp: ``op_summary.csv``."""
        found = {file.name for file in self.folder.iterdir()}
        return {f"{name.rpartition('_')[0]}{Path(name).suffix}" if "_" in name else name for name in found}

    def result(self, stem: str, suffix: str = "csv") -> Path:
        """Return the only result with that stem."""
        (found,) = self.folder.glob(f"{stem}_[0-9]*.{suffix}")
        return found

    def rows(self, stem: str) -> list[Row]:
        with self.result(stem).open(encoding="utf-8", newline="") as stream:
            return [{name: text.rstrip("\t") for name, text in row.items()} for row in csv.DictReader(stream)]

    def column(self, stem: str, name: str) -> list[str]:
        return [row[name] for row in self.rows(stem)]

    def trace(self, stem: str = "msprof") -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = json.loads(self.result(stem, "json").read_text(encoding="utf-8"))
        return events

    @property
    def sample(self) -> dict[str, Any]:
        """What the collector noted about its options."""
        document: dict[str, Any] = json.loads((self.path / "host" / "sample.json").read_text(encoding="utf-8"))
        return document


@frozen
class Run(running.Run):
    """A finished process."""

    def profs(self, below: str = "out") -> list[Prof]:
        """PROF directories in *below*, oldest first."""
        return [Prof(path) for path in sorted((self.folder / below).glob("PROF_*"))]

    def prof(self, below: str = "out") -> Prof:
        """Return the only PROF directory in *below*."""
        (found,) = self.profs(below)
        return found

    @property
    def said(self) -> list[str]:
        """Lines of drynpu."""
        return [line.removeprefix("[drynpu] ") for line in self.stderr.splitlines() if line.startswith("[drynpu] ")]


class Scripts(running.Scripts[Run]):
    """Runs scripts without settings of drynpu or the vendor, which nothing reads before a script begins."""

    run_class = Run
    prefixes = read_late = _OURS
    settings = _QUIET
    python = PYTHON

    def ranks(self, script: Path, *arguments: str, count: int = 2, program: tuple[str, ...] = ()) -> list[Run]:
        """Run a script as *count* ranks in one folder, as a launch script starts them, and return their processes."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        folder = self.new_folder()
        table = folder / "rank_table.json"
        devices = [{"device_id": str(rank), "device_ip": "", "rank_id": str(rank)} for rank in range(count)]
        servers = [{"server_id": "127.0.0.1", "device": devices}]
        table.write_text(json.dumps({"server_count": "1", "server_list": servers, "status": "completed"}))
        common = {
            "RANK_SIZE": str(count),
            "RANK_TABLE_FILE": str(table),
            "JOB_ID": "10087",
            "HCCL_IF_BASE_PORT": str(port),
            "HCCL_EXEC_TIMEOUT": "120",
        }

        def start(rank: int) -> Run:
            own = {"RANK_ID": str(rank), "DEVICE_ID": str(rank), "ASCEND_DEVICE_ID": str(rank)}
            more = {"program": program} if program else {}
            return self(script, *arguments, folder=folder, environment={**common, **own}, **more)

        with ThreadPoolExecutor(count) as pool:
            return list(pool.map(start, range(count)))


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scripts]:
    with warm_process(["tensorflow", *RECORDING], environment_without(_OURS, _QUIET), PYTHON[1:]) as warm:
        yield Scripts(functools.partial(tmp_path_factory.mktemp, "run"), warm)


@pytest.fixture(scope="session")
def example() -> Path:
    """Return the folder of the examples."""
    return ROOT / "examples" / "tf"
