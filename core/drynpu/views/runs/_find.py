"""Which runs a folder holds, found by names alone: nothing is read but the names of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

from drynpu._errors import OutputError
from drynpu.layouts.result_files import RANKED_INFO, RANKED_INFO_PATTERN
from drynpu.products import find_profiles

_STAMP = re.compile(r"(?<!\d)(\d{17})(?!\d)")
"""Time in the name of a result or PROF directory, to the millisecond."""
_DEEPEST = 4
"""Folders below the base that are looked into."""


@frozen
class RankFolder:
    """
    One profile of a run.

    ``rank`` is ``None`` where the name of no file tells it: a process that ran alone.
    """

    path: Path
    rank: int | None
    stamp: str
    """Time of its name, 17 digits; empty without."""


@frozen
class RunFolder:
    """
    What one execution left.

    Attributes
    ----------
    name:
        The path below the base folder, with ``/``; it identifies the run there.
    folders:
        Its profiles, by rank.
    """

    name: str
    folders: tuple[RankFolder, ...]

    @property
    def stamp(self) -> str:
        """The latest time in the names of its profiles, 17 digits; empty without."""
        return max(folder.stamp for folder in self.folders)


def find_runs(base: Path) -> list[RunFolder]:
    """
    Return the runs at *base* and up to four folders below it, the newest first.

    Profiles in one folder with different ranks are one run. A rank that comes again begins the next. Links that lead
    out of *base* are not followed.

    Raises
    ------
    OutputError
        *base* does not exist or cannot be read.
    """
    base = Path(base)
    if not base.exists():
        raise OutputError(f"no folder {base}")
    root = base.resolve()
    runs = [run for paths in _profile_folders(base, root, 0) for run in _runs(paths, base)]
    return sorted(runs, key=lambda run: (run.stamp, run.name), reverse=True)


def _profile_folders(folder: Path, root: Path, depth: int) -> Iterator[Sequence[Path]]:
    """Yield the profiles that lie together, folder by folder."""
    try:
        profiles = [path for path in find_profiles(folder) if _inside(path, root)]
        if profiles:
            yield profiles
        if profiles == [folder] or depth == _DEEPEST or not folder.is_dir():
            return
        below = sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except (OSError, OutputError) as error:
        if depth == 0:
            raise OutputError(f"cannot look into {folder}: {error}") from error
        return
    for child in below:
        if child not in profiles and _inside(child, root):
            yield from _profile_folders(child, root, depth + 1)


def _inside(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root)


def _runs(paths: Sequence[Path], base: Path) -> Iterator[RunFolder]:
    folders = sorted((_rank_folder(path) for path in paths), key=lambda folder: (folder.stamp, folder.rank or 0))
    together: list[RankFolder] = []
    for folder in folders:
        ranks = {other.rank for other in together}
        if together and (folder.rank is None or None in ranks or folder.rank in ranks):
            yield _run(together, base)
            together = []
        together.append(folder)
    if together:
        yield _run(together, base)


def _run(folders: Sequence[RankFolder], base: Path) -> RunFolder:
    ordered = tuple(sorted(folders, key=lambda folder: -1 if folder.rank is None else folder.rank))
    path = ordered[0].path
    name = path.relative_to(base).as_posix() if path != base else path.name
    return RunFolder(name, ordered)


def _rank_folder(path: Path) -> RankFolder:
    stamps = _STAMP.findall(path.name)
    ranks = [int(match.group(1)) for file in _files(path) if (match := RANKED_INFO.match(file.name))]
    return RankFolder(path, min(ranks, default=None), stamps[-1] if stamps else "")


def _files(path: Path) -> list[Path]:
    return list(path.glob(RANKED_INFO_PATTERN)) if path.is_dir() else []
