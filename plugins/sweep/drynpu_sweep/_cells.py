"""One cell of ``drynpu sweep``: a run of the script with some values, and what its ranks left."""

from __future__ import annotations

import itertools
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from attrs import evolve, field, frozen

from drynpu import CommandError
from drynpu.analysis import Summary, summarise
from drynpu.layouts.result_files import METADATA_FILE, PROFILER_INFO_PATTERN
from drynpu.products import load_profile

_RANK = re.compile(r"^(\[\d+\] )?(\[rank\d+\]:\s?)?")
_OUTPUT, _ERRORS = "stdout.txt", "stderr.txt"
GIB = 2**30
DATA_PARALLEL = "dp"
_SIZES = {
    "tp": ("tp", "tp-size", "tensor-parallel-size", "tensor-model-parallel-size"),
    "pp": ("pp", "pp-size", "pipeline-parallel-size", "pipeline-model-parallel-size"),
    "cp": ("cp", "cp-size", "context-parallel-size"),
}
"""Options of scripts by which ranks share one model; data parallelism is what they leave of the world."""
_DATA_GROUPS = ("dp", "data_parallel", "data_parallel_group")
"""What scripts call the group of data-parallel ranks."""


@frozen(kw_only=True)
class Measures:
    """
    Times of the slowest rank of a cell in a step, means over its steps, in ms; memory of the fullest rank.

    ``low_ms`` and ``high_ms`` hold the step time four times out of five; ``None``: not known.
    """

    step_ms: float
    low_ms: float | None
    high_ms: float | None
    computing_ms: float
    communication_ms: float
    exposed_ms: float
    """Communication that computing does not hide; waits for others are part of it."""
    free_ms: float
    peak_gib: float | None
    steps: int
    reserved_gib: float | None = None
    """What the pool reserves at most."""


@frozen(kw_only=True)
class Cell:
    """
    One run: the ``values`` of the grid, the ``ranks`` of a ``world`` that ran, and what came of it.

    ``data_parallel``: how many ranks hold the same part of the model; ``None`` if unknown. ``error`` if it failed.
    """

    values: Mapping[str, str]
    ranks: tuple[int, ...]
    world: int = 1
    data_parallel: int | None = None
    measures: Measures | None = None
    error: str = ""
    notes: tuple[str, ...] = field(default=())

    def row(self) -> dict[str, Any]:
        """Return the cell as one flat row, units in the names; values of the grid first."""
        names = (
            "step_ms",
            "low_ms",
            "high_ms",
            "computing_ms",
            "communication_ms",
            "exposed_ms",
            "free_ms",
            "peak_gib",
        )
        numbers = {name: None if self.measures is None else getattr(self.measures, name) for name in names}
        ranks = ",".join(map(str, self.ranks))
        placed = {"world": self.world, DATA_PARALLEL: self.data_parallel, "ranks": ranks}
        return {**self.values, **placed, **numbers, "error": self.error, **self.values}


def parallel_sizes(values: Mapping[str, str], arguments: Sequence[str]) -> Mapping[str, int]:
    """Return the sizes ``tp``, ``pp`` and ``cp`` that the grid or the arguments of the script name, else 1."""
    stated = {name.replace("_", "-"): value for name, value in (*_options(arguments), *values.items())}
    sizes = {}
    for size, names in _SIZES.items():
        texts = [stated[name] for name in names if name in stated]
        sizes[size] = int(texts[0]) if texts and texts[0].isdecimal() and int(texts[0]) else 1
    return sizes


def _options(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values of ``--name value`` and ``--name=value``."""
    for argument, after in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        if argument.startswith("--"):
            name, equals, value = argument.removeprefix("--").partition("=")
            yield name, value if equals else after


def world_of(values: Mapping[str, str], sizes: Mapping[str, int]) -> int:
    """
    Return the world in which the value ``dp`` of the grid is the number of data-parallel ranks.

    Raises
    ------
    CommandError
        The value is no number.
    """
    text = values[DATA_PARALLEL]
    if not text.isdecimal() or not int(text):
        raise CommandError(f"{text!r} is no number of data-parallel ranks; write the axis as dp=1,2,4", exit_code=2)
    return int(text) * math.prod(sizes.values())


def stage_ranks(stages: int, world: int) -> tuple[int, ...]:
    """Return one rank of every stage of the pipeline."""
    # Where the stages do not divide the world the script has to say so: rank 0 runs.
    return tuple(range(0, world, world // stages)) if world % stages == 0 else (0,)


def run_cell(
    folder: Path,
    cell: Cell,
    values: Mapping[str, str],
    options: Sequence[str],
    script: Sequence[str],
    variables: Mapping[str, str] | None = None,
) -> Cell:
    """
    Run the script of a *cell* in *folder* with *values* as its options, and return the cell with what it left.

    *options* are options of ``drynpu run``; *script* is its path and the arguments that all cells share; *variables*
    of the environment come on top.
    """
    folder.mkdir(parents=True)
    arguments = [part for name, value in values.items() for part in (f"--{name}", value)]
    chosen = ["--world", str(cell.world), "--ranks", ",".join(map(str, cell.ranks))]
    command = [sys.executable, "-m", "drynpu", "run", "--quiet", *options, *chosen, *script, *arguments]
    with (folder / _OUTPUT).open("wb") as output, (folder / _ERRORS).open("wb") as errors:
        environment = {**os.environ, **(variables or {})}
        done = subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=errors, check=False)
    if done.returncode:
        return evolve(cell, error=_last_line(folder / _ERRORS) or f"ended with status {done.returncode}")
    return _read_cell(folder, cell)


def _last_line(path: Path) -> str:
    lines = [_RANK.sub("", line).strip() for line in path.read_text("utf-8", "replace").splitlines()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    return (errors or [line for line in lines if line] or [""])[-1]


def _read_cell(folder: Path, cell: Cell) -> Cell:
    # Scripts choose where their results go; every result directory of PyTorch's profiler has this file.
    directories = sorted({path.parent for path in folder.rglob(PROFILER_INFO_PATTERN)})
    summaries = [summarise(load_profile(path)) for path in directories]
    measured = [each for each in map(_measure, summaries) if each is not None]
    if not measured:
        return evolve(cell, error="no profile with steps: the script recorded nothing; try --profile")
    slowest = max(measured, key=lambda each: each.step_ms)
    peaks, reserved = (
        [size for each in measured if (size := getattr(each, name)) is not None]
        for name in ("peak_gib", "reserved_gib")
    )
    notes = tuple(dict.fromkeys(note for each in summaries for note in each.notes))
    measures = evolve(slowest, peak_gib=max(peaks, default=None), reserved_gib=max(reserved, default=None))
    sizes = [size for path in directories if (size := _data_group(path)) is not None]
    return evolve(cell, measures=measures, notes=notes, data_parallel=sizes[0] if sizes else cell.data_parallel)


def _data_group(path: Path) -> int | None:
    """Return the size of the group that the script calls data-parallel; ``None`` if there is none."""
    metadata = path / METADATA_FILE
    groups = orjson.loads(metadata.read_bytes()).get("parallel_group_info", {}) if metadata.is_file() else {}
    sizes = [len(group["global_ranks"]) for group in groups.values() if group.get("group_name") in _DATA_GROUPS]
    return max(sizes, default=None)


def _mean_ms(times_us: Sequence[float]) -> float | None:
    return sum(times_us) / len(times_us) / 1000 if times_us else None


def _measure(summary: Summary) -> Measures | None:
    steps = summary.steps
    if not steps.height:
        return None

    def mean_ms(name: str) -> float:
        return _mean_ms(steps[name].to_list()) or 0.0

    computing, exposed, free = map(mean_ms, ("computing_us", "communication_not_overlapped_us", "free_us"))
    intervals = summary.step_intervals_us or ()
    low, high = (_mean_ms([ends[side] for ends in intervals]) for side in (0, 1))
    peak, reserved = summary.peak_allocated_bytes, summary.peak_reserved_bytes
    return Measures(
        step_ms=computing + exposed + free,
        low_ms=low,
        high_ms=high,
        computing_ms=computing,
        communication_ms=mean_ms("communication_us"),
        exposed_ms=exposed,
        free_ms=free,
        peak_gib=None if peak is None else peak / GIB,
        steps=steps.height,
        reserved_gib=None if reserved is None else reserved / GIB,
    )
