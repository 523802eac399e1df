"""Deliverables in a process of their own, which loads neither a framework nor the script."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import drynpu
from drynpu import OutputError
from drynpu.options import ExportType

T = TypeVar("T")

_IMPORTED_IN = os.getpid()
"""The process that imported the table engine; its threads are missing in processes that are forked off it."""


def is_forked() -> bool:
    """Return whether this process was forked after the table engine was imported, so that tables would hang in it."""
    return os.getpid() != _IMPORTED_IN


def deliver_in_process(
    path: Path,
    *,
    simplify: bool,
    forms: Collection[ExportType] | None = None,
    steps: Collection[int] = (),
    on_part: Callable[[str], object] = lambda _: None,
    toolkit_only: bool = False,
) -> None:
    """
    Do what ``deliver`` does, or with *toolkit_only* ``deliver_toolkit``, in a new interpreter, and wait for it.

    Not in a fork: the table engine's threads do not survive one.

    Parameters
    ----------
    simplify, forms, steps, on_part:
        As for ``deliver``.
    toolkit_only:
        Write ``mindstudio_profiler_output`` alone.

    Raises
    ------
    OutputError
        With what the process said if it fails.
    """
    package = str(Path(drynpu.__file__).parents[1])
    known = os.environ.get("PYTHONPATH")
    environment = {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(filter(None, [package, known]))}
    command = [sys.executable, "-m", "drynpu.products", str(path), *(["--simplify"] if simplify else [])]
    command += ["--toolkit"] if toolkit_only else []
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


def deliver_beside(work: Callable[[], None], otherwise: Callable[[], None]) -> Future[None]:
    """
    Call *work*, which waits for a process beside this one, on a thread that this process waits for at its end.

    *otherwise* is called at once where the interpreter is ending and takes no new work any more.
    """
    try:
        return _background().submit(work)
    except RuntimeError:
        otherwise()
        return Future()


@functools.cache
def _background() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max((os.cpu_count() or 1) // 2, 1), thread_name_prefix="drynpu-parsing")


def deliver_many(
    paths: Sequence[Path], processes: int, *, here: Callable[[Path], T], apart: Callable[[Path], T]
) -> list[T]:
    """Return what *here* returns for each path, or *apart* in up to *processes* processes where that saves time."""
    if min(processes, len(paths)) < 2:  # nothing to do at the same time
        return [here(path) for path in paths]
    with ThreadPoolExecutor(min(processes, len(paths))) as pool:
        return list(pool.map(apart, paths))
