"""Whole runs of torch_npu's profiler, and what the vendor's analysis rebuilds of a copy of them."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen
from parsers import error_lines

from drynpu.platforms import load_chip

HERE = Path(__file__).parent
OUTPUT = "ASCEND_PROFILER_OUTPUT"
LEVELS = ("Level0", "Level1", "Level2")
RANKS = (1, 2, 4)
FORMS = (("text", "db"), ("text",), ("db",))
MOST_SECONDS = 900


@frozen
class Run:
    """One recording of one or several ranks."""

    chip: str
    level: str
    forms: tuple[str, ...]
    ranks: int
    metrics: str = "PipeUtilization"

    @property
    def name(self) -> str:
        """A name for folders."""
        group = [self.metrics] * (self.metrics != "PipeUtilization")
        return "-".join((self.chip, "run", self.level, *self.forms, str(self.ranks), *group))


def all_runs(chips: Sequence[str], *, every: bool) -> Iterator[Run]:
    """
    Give the runs; without *every* one level, and text and database at once.

    The other groups of counters differ in columns of kernels alone, so one rank and both forms at once show them.
    """
    levels, forms = (LEVELS, FORMS) if every else (("Level1",), FORMS[:1])
    for values in itertools.product(chips, levels, forms, RANKS):
        yield Run(*values)
    for chip in chips if every else ():
        groups = [name for name in load_chip(chip).platform.counter_groups if name != "PipeUtilization"]
        for level, group in itertools.product(LEVELS[1:], groups):
            yield Run(chip, level, FORMS[0], 1, group)


def record_run(run: Run, folder: Path) -> list[Path]:
    """
    Run the session, one process for each rank; return the result directories.

    Raises
    ------
    RuntimeError
        If the session ends with an error or a directory is missing.
    """
    folder.mkdir(parents=True)
    session = str(HERE / "sessions" / "torch_run_session.py")
    script = [session, str(folder), run.level, ",".join(run.forms), run.metrics]
    starts = {1: ["-m", "drynpu", "run"]}
    several = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(run.ranks)]
    environment = {**os.environ, "DRYNPU_CHIP": run.chip, "DRYNPU_QUIET": "1"}
    environment |= {"RANK": "0"} if run.ranks == 1 else {}
    done = subprocess.run(
        [sys.executable, *starts.get(run.ranks, several), *script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    directories = sorted(folder.glob("*_ascend_pt"))
    if done.returncode or len(directories) != run.ranks:
        message = f"{run.name}: the session ended with {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
        raise RuntimeError(message)
    return directories


def rebuild(checkout: Path, directory: Path, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """
    Let the analysis of a checkout of Ascend/pytorch rebuild a copy of *directory* in *folder*.

    For the toolkit's command ``msprof`` that the analysis starts, drynpu's stands in.

    Returns
    -------
    tuple[Path, tuple[str, ...]]
        The folder of the deliverables, and the distinct lines of level ERROR.
    """
    copy = folder / directory.name
    ours = shutil.ignore_patterns(OUTPUT, "mindstudio_profiler_*", "msprof_*.db", "analyze", "logs")
    shutil.copytree(directory, copy, ignore=ours)
    done = subprocess.run(
        [sys.executable, str(HERE / "torch_npu_analysis.py"), str(checkout), str(copy)],
        env={
            **os.environ,
            "PATH": os.pathsep.join((str(place_msprof(folder)), os.environ["PATH"])),
            "PYTHONDONTWRITEBYTECODE": "1",
            # The analysis imports torch, which would load drynpu's torch_npu in place of the checkout's.
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            "RANK": "0",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    logs = [path.read_text(encoding="utf-8", errors="replace") for path in copy.glob("logs/*.log")]
    errors = error_lines("\n".join((done.stdout, *logs)))
    return copy / OUTPUT, errors if not done.returncode else (*errors, done.stderr[-500:])


def place_msprof(folder: Path) -> Path:
    """Return a folder with a command ``msprof`` that is drynpu's, where the analysis finds what it asks for."""
    toolkit = folder / "cann" / "tools" / "profiler"
    script = toolkit / "profiler_tool" / "analysis" / "msprof" / "msprof.py"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.touch(mode=0o640)
    command = toolkit / "bin" / "msprof"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m drynpu msprof "$@"\n', encoding="utf-8")
    command.chmod(0o750)
    return command.parent
