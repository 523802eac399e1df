"""Which result directories are the ranks of a cluster (downstream_consumers.md 1.2)."""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from attrs import frozen

from drynpu import OutputError
from drynpu.layouts.result_files import (
    ANALYSIS_DATABASE,
    COMMUNICATION_FILE,
    COMMUNICATION_MATRIX_FILE,
    RANKED_DATABASE,
    RANKED_INFO,
)
from drynpu.writers.folders import FRAMEWORK_OUTPUT

MOST_LEVELS = 5
"""How deep below the folder of a run its ranks are looked for."""

_RESULT_SUFFIXES = ("ascend_pt", "ascend_ms")
_STAMP = re.compile(r"_(\d+)_ascend_(?:pt|ms)$")


class Form(enum.Enum):
    """In which form the ranks of a cluster are read."""

    TEXT = "text"
    DB = "db"


@frozen
class RankSource:
    """One rank of a cluster: its number, result directory and form."""

    rank: int
    path: Path
    form: Form

    @property
    def size_bytes(self) -> int:
        """Bytes that an analysis of the rank reads, about."""
        names = (ANALYSIS_DATABASE,) if self.form is Form.DB else (COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE)
        files = [self.path / FRAMEWORK_OUTPUT / name for name in names]
        return sum(file.stat().st_size for file in files if file.is_file())


@frozen
class ClusterSource:
    """
    The ranks below a folder.

    Attributes
    ----------
    ranks:
        By number. All have one form: databases, if any rank has one.
    notes:
        What was left out, and why.
    """

    path: Path
    form: Form
    ranks: tuple[RankSource, ...]
    notes: tuple[str, ...] = ()


def find_cluster(path: Path) -> ClusterSource:
    """
    Return the ranks at or below *path*.

    A directory with a database ``ascend_pytorch_profiler_<rank>.db`` is a rank in the form db; otherwise one named
    ``*_ascend_pt`` or ``*_ascend_ms`` with ``profiler_info_<rank>.json`` is a rank in the form text. Of several
    directories of one rank the youngest counts.

    Raises
    ------
    OutputError
        There is no rank, or *path* is no directory.
    """
    if not path.is_dir():
        raise OutputError(f"{path} is no directory; name the folder that holds the result directories of the ranks")
    holders = sorted(_holders(path.resolve()))
    databases = {holder: rank for holder in holders if (rank := _database_rank(holder)) is not None}
    if databases:
        return _chosen(path, Form.DB, databases, [])
    texts, notes = {}, []
    for holder in holders:
        if holder.name.endswith(_RESULT_SUFFIXES):
            rank = _text_rank(holder)
            if rank is None:
                notes.append(f"{holder.name} was left out: no profiler_info_<rank>.json in it says which rank it is")
            else:
                texts[holder] = rank
    if not texts:
        raise OutputError(
            f"no ranks below {path}: looked for *_ascend_pt and *_ascend_ms directories with {FRAMEWORK_OUTPUT} and "
            "profiler_info_<rank>.json. Results are written by: drynpu analyze DIRECTORY. Record with RANK set, or in "
            "a process group, so that the rank is known." + "".join(f"\n{note}" for note in notes)
        )
    return _chosen(path, Form.TEXT, texts, notes)


def _chosen(path: Path, form: Form, ranks: Mapping[Path, int], notes: list[str]) -> ClusterSource:
    """Keep the youngest directory of each rank."""
    youngest: dict[int, Path] = {}
    for holder, rank in ranks.items():
        if rank in youngest:
            first, second = sorted((youngest[rank], holder), key=_age)
            notes.append(f"rank {rank} has several directories; {second.name} was read, {first.name} was not")
            holder = second
        youngest[rank] = holder
    sources = tuple(RankSource(rank, youngest[rank], form) for rank in sorted(youngest))
    return ClusterSource(path, form, sources, tuple(notes))


def _age(holder: Path) -> int:
    match = _STAMP.search(holder.name)
    return int(match.group(1)) if match else 0


def _holders(path: Path) -> Iterator[Path]:
    """Yield the directories with a folder of results, at most `MOST_LEVELS` below *path*."""
    base = len(path.parts)
    for root, folders, _ in os.walk(path):
        here = Path(root)
        if FRAMEWORK_OUTPUT in folders:
            yield here
            folders.clear()
        elif len(here.parts) - base >= MOST_LEVELS:
            folders.clear()


def _database_rank(holder: Path) -> int | None:
    """Return the rank that a database names, -1 if it names none; ``None`` where there is no database."""
    names = [entry.name for entry in (holder / FRAMEWORK_OUTPUT).iterdir()]
    for name in names:
        if match := RANKED_DATABASE.match(name):
            return int(match.group(1)) if match.group(1) else -1
    return _text_rank(holder) if ANALYSIS_DATABASE in names else None


def _text_rank(holder: Path) -> int | None:
    matches = (RANKED_INFO.match(entry.name) for entry in holder.iterdir())
    return next((int(match.group(1)) for match in matches if match), None)
