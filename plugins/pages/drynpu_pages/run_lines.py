"""What the list of runs says of each: read in the background, one run after the other, the newest first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from drynpu import DrynpuError
from drynpu.views.runs import Run, RunFolder
from drynpu.writers.number_text import UNKNOWN
from drynpu_pages.provenance import kind_of_run

_MOST_BYTES = 1 << 30
"""Files of a rank up to which it is read for the list alone."""
_POINTS = 40
"""Steps of the small picture."""
_PRODUCTS = {"torch": "PyTorch", "mindspore": "MindSpore"}


@frozen
class RunLine:
    """
    What is said of a run; ``None`` and ``""`` where it is not known.

    Attributes
    ----------
    steps_us:
        Times of the first steps of the first rank.
    kind:
        Of `drynpu_pages.provenance.kind_of_run`.
    note:
        Why there is no more, where the run cannot be read or is too large to be read for a list.
    """

    size_bytes: int
    step_us: float | None = None
    steps_us: Sequence[float] = ()
    kernels: int | None = None
    peak_bytes: int | None = None
    capacity_bytes: int | None = None
    chip: str = ""
    framework: str = ""
    kind: str = ""
    note: str = ""


def read_line(folder: RunFolder) -> RunLine:
    """Return what is said of a run; its first rank stands for all."""
    try:
        size = sum(map(_size, (rank.path for rank in folder.folders)))
    except OSError as error:
        return RunLine(0, note=str(error))
    if size > _MOST_BYTES * len(folder.folders):
        return RunLine(size, note="large: open it to read it")
    try:
        rank = Run.from_folder(folder).rank()
        summary = rank.summary
    except DrynpuError as error:
        return RunLine(size, note=str(error))
    steps = [float(each) for each in summary.steps["stage_us"]] if "stage_us" in summary.steps.columns else []
    # Where nothing marks steps and nothing was launched in a known time, the one there is has no length.
    steps = steps if any(steps) else []
    return RunLine(
        size,
        sum(steps) / len(steps) if steps else None,
        steps[:_POINTS],
        summary.kernel_count,
        summary.peak_allocated_bytes,
        None if rank.chip is None else rank.chip.memory_bytes,
        "" if summary.chip == UNKNOWN else summary.chip,
        _PRODUCTS.get(rank.profile.product, rank.profile.product),
        kind_of_run(rank),
    )


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(each.stat().st_size for each in files if each.is_file())


@define(eq=False)
class RunLines:
    """The lines so far. Asking for some starts the thread that reads what is missing; safe from several threads."""

    _lines: dict[RunFolder, RunLine] = field(factory=dict, init=False, repr=False)
    _wanted: Sequence[RunFolder] = field(default=(), init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)
    _reading: bool = field(default=False, init=False, repr=False)

    def lines_of(self, folders: Sequence[RunFolder]) -> Sequence[RunLine | None]:
        """Return a line for each run, ``None`` where it is still being read."""
        with self._lock:
            self._wanted = folders
            lines = [self._lines.get(folder) for folder in folders]
            if None in lines and not self._reading:
                self._reading = True
                threading.Thread(target=self._read, daemon=True).start()
        return lines

    def _read(self) -> None:
        try:
            self._read_all()
        finally:
            self._reading = False

    def _read_all(self) -> None:
        while True:
            with self._lock:
                folder = next((each for each in self._wanted if each not in self._lines), None)
                if folder is None:
                    return
            line = RunLine(0, note="this could not be read: open it to see why")
            try:
                line = read_line(folder)
            finally:
                with self._lock:
                    self._lines[folder] = line
