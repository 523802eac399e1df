"""Deliverables in a process of their own, which loads neither a framework nor the script."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path

import drynpu
from drynpu import OutputError
from drynpu.options import ExportType


def deliver_in_process(
    path: Path,
    *,
    simplify: bool,
    forms: Collection[ExportType] | None = None,
    steps: Collection[int] = (),
    on_part: Callable[[str], object] = lambda _: None,
) -> None:
    """
    Do what ``deliver`` does in a new interpreter, and wait for it.

    Not in a fork: the table engine's threads do not survive one.

    Parameters
    ----------
    simplify, forms, steps, on_part:
        As for ``deliver``.

    Raises
    ------
    OutputError
        With what the process said if it fails.
    """
    package = str(Path(drynpu.__file__).parents[1])
    known = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, [package, known]))}
    command = [sys.executable, "-m", "drynpu.products", str(path), *(["--simplify"] if simplify else [])]
    command += [f"--form={form.value}" for form in forms or ()] + [f"--step={step}" for step in steps]
    # Problems go to a file: a pipe that nobody reads yet would fill up, and both would wait.
    with (
        tempfile.TemporaryFile("w+") as problems,
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=problems, text=True) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            on_part(line.strip())
        if process.wait():
            problems.seek(0)
            raise OutputError(problems.read().strip() or f"parsing {path} ended with status {process.returncode}")
