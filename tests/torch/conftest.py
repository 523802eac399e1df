"""Scripts run as a user would run them, and the result directories they leave."""

from __future__ import annotations

import csv
import functools
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field, frozen
from tests import scripts as running
from tests.scripts import environment_without
from tests.warm_process import RECORDING, WarmProcess, warm_process

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "torch" / "train_gpt.py"
LINE = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(INFO|WARNING|ERROR)\] \[(\d+)\] profiler\.py: (.*)$")
_OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "KINETO_", "TORCH_NPU_", "RANK", "LOCAL_RANK", "WORLD_SIZE")

_SETTINGS = {
    **{name: text for name, text in os.environ.items() if name in ("DRYNPU_DEVICE", "DRYNPU_PLUGINS")},
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "COLUMNS": "120",
}
_READ_LATER = (
    *("DRYNPU_", "ASCEND_", "PROFILING_", "RANK", "LOCAL_", "WORLD_SIZE", "MASTER_", "XDG_CACHE_HOME"),
    *("PYTORCH_NPU_", "TASK_QUEUE_ENABLE", "HCCL_", "PROF_CONFIG_PATH", "COLUMNS", "CXX", "PROFILER_SAMPLECONFIG"),
    *("TORCH_NPU_WARNING_DISABLE", "OMP_NUM_THREADS"),
)
"""Begins the names of variables that nothing reads before a script runs; with others it runs in a fresh process."""
_ADAPTER = ("device", "install", "profiler", "profiler._result", "services")
"""Modules of the adapter that scripts import sooner or later, and that change nothing in PyTorch when imported."""
Row = dict[str, str]
Event = dict[str, Any]


def may_be_warm(environment: Mapping[str, str]) -> bool:
    """Return whether a script with these variables can run in a fork of a process that has imported PyTorch."""
    return all(name.startswith(_READ_LATER) for name in environment)


def nanoseconds(text: str) -> int:
    """Microseconds as they are printed, with or without the tab, as an exact number of ns."""
    value = Decimal(text.rstrip("\t")) * 1000
    assert value == int(value), text
    return int(value)


@define
class Output:
    """One result directory."""

    path: Path
    _trace: list[Event] | None = field(default=None, repr=False)

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def folder(self) -> Path:
        return self.path / "ASCEND_PROFILER_OUTPUT"

    @property
    def files(self) -> set[str]:
        """Names of the deliverables."""
        return {file.name for file in self.folder.iterdir()}

    @property
    def prof(self) -> Path:
        (found,) = self.path.glob("PROF_*")
        return found

    def document(self, pattern: str) -> dict[str, Any]:
        (found,) = self.path.glob(pattern)
        value: dict[str, Any] = json.loads(found.read_text(encoding="utf-8"))
        return value

    def rows(self, name: str) -> list[Row]:
        with (self.folder / name).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def columns(self, name: str) -> list[str]:
        with (self.folder / name).open(encoding="utf-8", newline="") as stream:
            return next(csv.reader(stream))

    def toolkit(self, stem: str) -> Path:
        """Return the file of mindstudio_profiler_output with that stem."""
        (found,) = self.prof.glob(f"mindstudio_profiler_output/{stem}_[0-9]*")
        return found

    @property
    def trace(self) -> list[Event]:
        if self._trace is None:
            self._trace = json.loads((self.folder / "trace_view.json").read_text(encoding="utf-8"))
        return self._trace

    @property
    def layers(self) -> dict[str, int]:
        """Pid of every process of the trace by its name."""
        return {e["args"]["name"]: e["pid"] for e in self.trace if e["ph"] == "M" and e["name"] == "process_name"}

    def layer(self, name: str) -> list[Event]:
        """Return the X events of a process of the trace."""
        pid = self.layers.get(name)
        return [e for e in self.trace if e["ph"] == "X" and e["pid"] == pid]

    def operators(self) -> list[Event]:
        return [e for e in self.trace if e.get("cat") == "cpu_op"]


@frozen
class Run(running.Run):
    """A finished process."""

    def outputs(self, below: str = ".") -> list[Output]:
        """Result directories in *below*, oldest first."""
        return [Output(path) for path in sorted((self.folder / below).glob("*_ascend_pt"), key=_stamp)]

    def output(self, below: str = ".") -> Output:
        """Return the only result directory in *below*."""
        (found,) = self.outputs(below)
        return found

    def said(self, *severities: str) -> list[str]:
        """Messages in the vendor's line format, of those severities (all if none is named)."""
        matches = [LINE.match(line) for line in self.stdout.splitlines()]
        return [m.group(3) for m in matches if m and (not severities or m.group(1) in severities)]

    def section(self, name: str) -> list[tuple[str, str]]:
        """Severity and message of what was said after the script printed ``begin <name>``; no information lines."""
        text = self.stdout.split(f"begin {name}\n", 1)[1].split("\nbegin ", 1)[0]
        matches = [LINE.match(line) for line in text.splitlines()]
        return [(m.group(1), m.group(3)) for m in matches if m and m.group(1) != "INFO"]


def _stamp(path: Path) -> str:
    return path.name.split("_")[-3]


class Scripts(running.Scripts[Run]):
    """
    Runs scripts in an environment without settings of drynpu or the vendor.

    The device and the plugins stay: ``DRYNPU_DEVICE=native pytest tests/torch`` tries everything on the native one,
    ``DRYNPU_PLUGINS= pytest tests/torch`` without plugins.
    """

    run_class = Run
    prefixes = _OURS
    settings = _SETTINGS
    read_late = _READ_LATER

    def __call__(self, script: str | Path, *arguments: str | Path, **options: Any) -> Run:
        """Run a script to its end, which has to be the expected one and free of the tracer's own announcements."""
        run = super().__call__(script, *arguments, **options)
        assert "USDT" not in run.stderr
        return run

    def together(self, *calls: Callable[[], Run]) -> list[Run]:
        """Run two at a time."""
        with ThreadPoolExecutor(2) as pool:
            return [future.result() for future in [pool.submit(call) for call in calls]]


@pytest.fixture(scope="session")
def native() -> bool:
    """Return whether the native device serves this process and the scripts; otherwise the sink does."""
    from drynpu_torch.install import install

    return install().library is not None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sink_only: what only the sink does; not run where the native device serves")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("sink_only")]
    if not marked:
        return
    from drynpu_torch.install import install

    if install().library is not None:
        config.hook.pytest_deselected(items=marked)
        items[:] = [item for item in items if item not in marked]


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmProcess | None]:
    """Return a process that has imported PyTorch, if scripts may run in forks of it."""
    modules = ["torch", "torch._dynamo", *(f"drynpu_torch.{name}" for name in _ADAPTER), *RECORDING]
    environment = environment_without(_OURS, {**_SETTINGS, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    with warm_process(modules, environment) as process:
        yield process


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory, warm: WarmProcess | None) -> Scripts:
    return Scripts(functools.partial(tmp_path_factory.mktemp, "run"), warm)


@pytest.fixture(scope="session")
def example() -> Path:
    return EXAMPLE


@pytest.fixture(scope="session")
def demo_runs(scripts: Scripts) -> tuple[Run, Run]:
    """Return the example run twice in one folder: by plain Python, then by ``drynpu run``."""
    first = scripts(EXAMPLE, environment={"RANK": "0"})
    drynpu = Path(sys.executable).with_name("drynpu")
    second = scripts(
        EXAMPLE,
        folder=first.folder,
        environment={"RANK": "0", "DRYNPU_QUIET": "1"},
        program=(str(drynpu), "run"),
    )
    return first, second


@pytest.fixture(scope="session")
def demo(demo_runs: tuple[Run, Run]) -> Output:
    """Return what the first run of the example left."""
    return demo_runs[0].outputs("demo_out")[0]


@pytest.fixture(scope="session")
def ns() -> Callable[[str], int]:
    return nanoseconds


@pytest.fixture(scope="session")
def output() -> Callable[[Path], Output]:
    """Return the reader of a result directory."""
    return Output
