"""One cell of ``drynpu sweep``: a run of the script with some values, and what its ranks left."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

from drynpu.analysis import Summary, summarise
from drynpu.products import load_profile

_RANK = re.compile(r"^(\[\d+\] )?(\[rank\d+\]:\s?)?")
_OUTPUT, _ERRORS = "stdout.txt", "stderr.txt"
_GIB = 2**30
_STAGES = "pp"


@frozen(kw_only=True)
class Measures:
    """
    What the slowest rank of a cell took in a step, means over its steps, in ms; memory is that of the fullest rank.

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


@frozen(kw_only=True)
class Cell:
    """One run: the ``values`` of the grid, the ``ranks`` that ran, and what came of it; ``error`` if it failed."""

    values: Mapping[str, str]
    ranks: tuple[int, ...]
    measures: Measures | None = None
    error: str = ""
    notes: tuple[str, ...] = field(default=())

    def row(self) -> dict[str, Any]:
        """Return the cell as one flat row, units in the names."""
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
        return {**self.values, "ranks": ",".join(map(str, self.ranks)), **numbers, "error": self.error}


def stage_ranks(values: Mapping[str, str], world: int) -> tuple[int, ...]:
    """Return one rank of every stage of the pipeline, if the grid or the arguments name their number as ``pp``."""
    text = values.get(_STAGES, "1")
    stages = int(text) if text.isdecimal() and int(text) else 1
    # Where the stages do not divide the world the script has to say so: rank 0 runs.
    return tuple(range(0, world, world // stages)) if world % stages == 0 else (0,)


def run_cell(
    folder: Path, values: Mapping[str, str], ranks: tuple[int, ...], options: Sequence[str], script: Sequence[str]
) -> Cell:
    """
    Run the script in *folder* with *values* as its options, and read what it left.

    *options* are those of ``drynpu run``; *script* is its path and the arguments that all cells share.
    """
    folder.mkdir(parents=True)
    given = [part for name, value in values.items() for part in (f"--{name}", value)]
    chosen = ["--ranks", ",".join(map(str, ranks))]
    command = [sys.executable, "-m", "drynpu", "run", "--quiet", *options, *chosen, *script, *given]
    with (folder / _OUTPUT).open("wb") as output, (folder / _ERRORS).open("wb") as errors:
        status = subprocess.run(command, cwd=folder, stdout=output, stderr=errors, check=False).returncode
    if status:
        return Cell(values=values, ranks=ranks, error=_last_line(folder / _ERRORS) or f"ended with status {status}")
    return _read_cell(folder, values, ranks)


def _last_line(path: Path) -> str:
    lines = [_RANK.sub("", line).strip() for line in path.read_text("utf-8", "replace").splitlines()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit|Interrupt)\b", line)]
    return (errors or [line for line in lines if line] or [""])[-1]


def _read_cell(folder: Path, values: Mapping[str, str], ranks: tuple[int, ...]) -> Cell:
    # Scripts choose where their results go; every result directory of PyTorch's profiler has this file.
    found = sorted({path.parent for path in folder.rglob("profiler_info*.json")})
    summaries = [summarise(load_profile(path)) for path in found]
    measured = [each for each in map(_measure, summaries) if each is not None]
    if not measured:
        return Cell(
            values=values, ranks=ranks, error="no profile with steps: the script recorded nothing; try --profile"
        )
    slowest = max(measured, key=lambda each: each.step_ms)
    peaks = [each.peak_gib for each in measured if each.peak_gib is not None]
    notes = tuple(dict.fromkeys(note for each in summaries for note in each.notes))
    return Cell(values=values, ranks=ranks, measures=evolve(slowest, peak_gib=max(peaks, default=None)), notes=notes)


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
    peak = summary.peak_allocated_bytes
    return Measures(
        step_ms=computing + exposed + free,
        low_ms=low,
        high_ms=high,
        computing_ms=computing,
        communication_ms=mean_ms("communication_us"),
        exposed_ms=exposed,
        free_ms=free,
        peak_gib=None if peak is None else peak / _GIB,
        steps=steps.height,
    )
