"""Recordings to compare on: one for each combination of platform, framework, level and group of counters."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from drynpu import OptionError
from drynpu.options import profiling_options
from drynpu.platforms import load_chip

SESSIONS = Path(__file__).parent / "sessions"
CHIPS = ("Ascend310", "Ascend910A", "Ascend310P3", "Ascend910B2", "Ascend950PR")
"""One chip of each platform that drynpu simulates."""

FRAMEWORKS = ("core", "torch", "tensorflow", "pyacl", "mindspore")
ENVIRONMENTS = {"mindspore": Path(".venv-mindspore")}
"""Environments in which a framework is installed, where it is not this script's."""

SAMPLED = ("sys_hardware_mem", "sys_io_sampling", "sys_interconnection", "host_sys_usage")
"""What is sampled often on every chip that has it, by the option of its rate."""

LEVELS = ("l0", "l1", "l2")
MOST_SECONDS = 600


@frozen
class Case:
    """One combination: ``metrics`` is a group of counters, ``""`` for none."""

    chip: str
    framework: str
    level: str
    metrics: str

    @property
    def name(self) -> str:
        """A name for folders."""
        return "-".join((self.chip, self.framework, self.level, self.metrics or "none"))


def all_cases(chips: Sequence[str], frameworks: Sequence[str], *, every: bool) -> Iterator[Case]:
    """Give the combinations; without *every* one level and one group of counters for each chip and framework."""
    for chip, framework in itertools.product(chips, frameworks):
        groups = tuple(load_chip(chip).platform.counter_groups)
        if not every:
            yield Case(chip, framework, "l1", groups[0] if "PipeUtilization" not in groups else "PipeUtilization")
            continue
        yield Case(chip, framework, "l0", "")
        for level, group in itertools.product(LEVELS[1:], groups):
            yield Case(chip, framework, level, group)


def record(case: Case, folder: Path) -> list[Path]:
    """
    Run the session of a framework in a process of its own; return the PROF directories that it left.

    Raises
    ------
    RuntimeError
        If the session ends with an error or leaves no PROF directory.
    """
    folder.mkdir(parents=True)
    command = [_interpreter(case.framework), *_command(case, folder)]
    environment = {**os.environ, "DRYNPU_CHIP": case.chip, "DRYNPU_QUIET": "1", "RANK": "0"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=MOST_SECONDS
    )
    directories = sorted(folder.rglob("PROF_*"))
    if done.returncode or not directories:
        message = f"{case.name}: the session ended with {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
        raise RuntimeError(message)
    return directories


def _interpreter(framework: str) -> str:
    python = (ENVIRONMENTS.get(framework, Path()) / "bin" / "python").absolute()
    return str(python) if python.is_file() else sys.executable


def _has_option(chip: str, key: str) -> bool:
    try:
        profiling_options.parse({key: 50, "output": "."}, chip=chip)
    except OptionError:
        return False
    return True


def _command(case: Case, folder: Path) -> list[str]:
    script = SESSIONS / f"{case.framework}_session.py"
    if case.framework == "core":
        platform = load_chip(case.chip).platform
        # With steps the parser exports one iteration of such a platform at a time.
        steps = ["training_trace"] * platform.tasks.unique_ids
        cache = ["l2"] * (platform.memory.l2_events is not None)
        switches = (*steps, "aicpu", "runtime_api", "msproftx", "task_memory", *cache)
        counters = [f"aic_metrics={case.metrics}"] if case.metrics else []
        options = [
            f"task_time={case.level}",
            *(f"{rate}_freq=50" for rate in SAMPLED if _has_option(case.chip, f"{rate}_freq")),
            "host_sys=cpu,mem,disk,network",
            "host_sys_usage=cpu,mem",
            *(f"{switch}=on" for switch in switches),
            *counters,
        ]
        return [str(script), case.chip, str(folder), *options]
    return ["-m", "drynpu", "run", str(script), str(folder), case.level, case.metrics]
