"""The runs of a base folder, opened when they are asked for; a few stay open."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from attrs import define, field

from drynpu import OutputError
from drynpu.views.runs import Run, RunFolder, find_runs
from drynpu_pages.reading import Readings
from drynpu_pages.run_lines import RunLines

_FRESH_S = 2.0
"""Seconds for which a list of runs is taken as it is by those who open one of them."""
_OPEN = 4
"""Runs that stay in memory; a run of a million kernels takes a few hundred MB."""


@define(eq=False)
class Library:
    """
    What a dashboard serves: the runs below one folder, as they are when they are asked for.

    Runs are known by their names below the folder alone, so that no address can lead out of it. Safe to use from
    several threads.
    """

    base: Path
    lines: RunLines = field(factory=RunLines, init=False, repr=False)
    readings: Readings = field(factory=Readings, init=False, repr=False)
    _open: OrderedDict[str, tuple[object, Run]] = field(factory=OrderedDict, init=False, repr=False)
    _lock: threading.Lock = field(factory=threading.Lock, init=False, repr=False)
    _listed: tuple[float, Sequence[RunFolder]] = field(default=(-_FRESH_S, ()), init=False, repr=False)

    def folders(self) -> Sequence[RunFolder]:
        """
        Return the runs that there are now, the newest first.

        Raises
        ------
        OutputError
            The folder cannot be read.
        """
        folders = find_runs(self.base)
        self._listed = (time.monotonic(), folders)
        return folders

    def open(self, name: str) -> Run:
        """
        Return a run by its name; what was opened before is given again unless its files have changed.

        Raises
        ------
        OutputError
            There is no run of that name now.
        """
        listed, known = self._listed
        # Every click opens the run; looking through all folders each time would take longer than the answer.
        fresh = known if time.monotonic() - listed < _FRESH_S else ()
        folder = _named(fresh, name) or _named(self.folders(), name)
        if folder is not None:
            return self._opened(folder)
        raise OutputError(f"no run {name!r} in {self.base}")

    def _opened(self, folder: RunFolder) -> Run:
        state = tuple((rank.path, rank.rank, _state(rank.path)) for rank in folder.folders)
        with self._lock:
            known = self._open.pop(folder.name, None)
            run = known[1] if known is not None and known[0] == state else Run.from_folder(folder)
            self._open[folder.name] = (state, run)
            while len(self._open) > _OPEN:
                self._open.popitem(last=False)
        return run


def _named(folders: Sequence[RunFolder], name: str) -> RunFolder | None:
    return next((folder for folder in folders if folder.name == name), None)


def _state(path: Path) -> tuple[tuple[str, int], ...]:
    """Return the times of change of a profile and of the folders in it: they change when a recording is completed."""
    try:
        parts = [path, *(sorted(path.iterdir()) if path.is_dir() else [])]
        return tuple((part.name, part.stat().st_mtime_ns) for part in parts)
    except OSError:
        return ()
