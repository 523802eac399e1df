"""A run with its ranks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from attrs import define, field, frozen

from drynpu._errors import OutputError
from drynpu.views.runs._find import RunFolder, find_runs
from drynpu.views.runs._rank import Rank, Selection


@define(eq=False, slots=False)
class Run:
    """
    What one execution left, opened. Profiles are read when a rank is first asked for something.

    Attributes
    ----------
    name:
        The path of the run below the folder in which it was found.
    """

    name: str
    ranks: tuple[Rank, ...]

    @classmethod
    def from_folder(cls, folder: RunFolder) -> Run:
        """Return the run of a folder that `find_runs` found."""
        return cls(folder.name, tuple(Rank(rank.path, rank.rank) for rank in folder.folders))

    @classmethod
    def from_path(cls, path: Path) -> Run:
        """
        Return the one run at a path: a result directory, a single result file, or a folder with one run.

        Raises
        ------
        OutputError
            There is none, or more than one; the message names them.
        """
        runs = find_runs(path)
        if len(runs) != 1:
            names = ", ".join(run.name for run in runs[:5]) + (", ..." if len(runs) > 5 else "")
            what = f"{len(runs)} runs ({names}); name one of them" if runs else "none"
            raise OutputError(f"expected one run at {path} and found {what}")
        return cls.from_folder(runs[0])

    @classmethod
    def newest(cls, path: Path) -> tuple[Run, Sequence[str]]:
        """
        Return the newest run at a path, and the names of the others there, the newest first.

        Raises
        ------
        OutputError
            There is none.
        """
        runs = find_runs(path)
        if len(runs) < 2:
            return cls.from_path(path), ()
        return cls.from_folder(runs[0]), tuple(run.name for run in runs[1:])

    @cached_property
    def labels(self) -> Sequence[str]:
        """What a selector of ranks shows, in order."""
        return [rank.label for rank in self.ranks]

    def rank(self, label: str = "") -> Rank:
        """
        Return a rank by its label; the first for ``""``.

        Raises
        ------
        OutputError
            There is no such rank; the message names those that there are.
        """
        if not label:
            return self.ranks[0]
        for rank in self.ranks:
            if rank.label == label:
                return rank
        raise OutputError(f"no rank {label!r} in {self.name}: it has {', '.join(self.labels)}")


@frozen(eq=False)
class View:
    """What a page is built for: a run, one of its ranks, and what is selected there."""

    run: Run
    rank: Rank
    selection: Selection = field(factory=Selection)
    other: Run | None = None
    """The run to compare with, on pages that do."""

    @property
    def modelled(self) -> bool:
        """Whether the device's times were simulated by drynpu."""
        return self.rank.modelled

    @property
    def step(self) -> str:
        """The selected step; ``""`` for all."""
        return self.selection.step

    def choice(self, name: str, default: str) -> str:
        """Return what was chosen in a control of the page."""
        return self.selection.choices.get(name, default)
