"""What `drynpu.open_run` gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import polars as pl
from attrs import asdict, define

from drynpu import require
from drynpu.analysis import compare_profiles
from drynpu.analysis.hints import Finding, find_all
from drynpu.views.content import Block, Chart, Facts, Hint, Note, Table, flat
from drynpu.views.runs import Rank, Run, View
from drynpu_pages.named_tables import NamedTables
from drynpu_pages.pages import all_pages, find_page
from drynpu_pages.report import blocks_html, framed_html, write_report

if TYPE_CHECKING:
    import plotly.graph_objects as go

T = TypeVar("T")


def open_run(path: str | PathLike[str]) -> OpenedRun:
    """
    Open a run: a result directory, a folder with the ranks of one run, or a single result file.

    Profiles are read when something of them is first asked for.

    Raises
    ------
    OutputError
        There is no run at *path*, or more than one.
    """
    return OpenedRun(Run.from_path(Path(path)))


@define(eq=False, slots=False)
class OpenedRank:
    """One rank of a run."""

    run: Run
    rank: Rank

    @property
    def label(self) -> str:
        """Its number; ``single`` where the run was not distributed."""
        return self.rank.label

    @cached_property
    def tables(self) -> NamedTables:
        """All tables by name, polars; ``tables["kernels"].to_pandas()`` is polars' own."""
        return NamedTables(self.rank.profile)

    @cached_property
    def figures(self) -> Mapping[str, go.Figure]:
        """
        The figures of all pages by ``<page>/<name>``, plotly; each is drawn when it is first looked at.

        Raises
        ------
        DrynpuError
            plotly is not installed.
        """
        require("plotly", "dashboard")
        return _Drawn({key: chart.draw for key, chart in self._charts()})

    def _charts(self) -> Iterator[tuple[str, Chart]]:
        for page in all_pages():
            for block in flat(self.blocks(page.name)):
                if isinstance(block, Chart):
                    yield f"{page.name}/{block.name}", block

    @cached_property
    def hints(self) -> list[Finding]:
        """What is conspicuous, what costs most first."""
        return list(find_all(self.rank.profile, self.rank.summary))

    def blocks(self, page: str = "overview") -> Sequence[Block]:
        """Return what a page holds for the whole run. Raises `OutputError` for a page that there is not."""
        return find_page(page).blocks(View(self.run, self.rank))

    def compare(self, other: OpenedRank) -> Mapping[str, pl.DataFrame]:
        """
        Return what changed from this rank to another, by mean step, what changed most first.

        The tables are ``steps``, ``kernels``, ``collectives``, ``operators`` and ``memory``
        (`drynpu.analysis.Comparison`).
        """
        first, second = ((each.rank.profile, each.rank.summary) for each in (self, other))
        tables: Mapping[str, pl.DataFrame] = asdict(compare_profiles(first, second), recurse=False)
        return tables

    def report(self, file: str | Path) -> Path:
        """Write all pages of the rank to one HTML file and return its path. Raises `DrynpuError`."""
        path = Path(file)
        write_report(self.run, self.rank, path)
        return path

    def _repr_html_(self) -> str:
        """Return facts, tables and notes of the overview, figures as their sentence."""
        shown = [block for block in flat(self.blocks()) if isinstance(block, (Facts, Chart, Table, Note, Hint))]
        return framed_html(self.run.name, blocks_html(shown, charts=False))

    def __repr__(self) -> str:
        return f"<rank {self.label} of {self.run.name}>"


class OpenedRun(OpenedRank):
    """A run; what is asked of it is answered for its first rank. `ranks` has all."""

    def __init__(self, run: Run) -> None:
        super().__init__(run, run.rank())

    @cached_property
    def ranks(self) -> tuple[OpenedRank, ...]:
        """All ranks, by number."""
        return tuple(OpenedRank(self.run, rank) for rank in self.run.ranks)

    @property
    def name(self) -> str:
        """Name of the run."""
        return self.run.name

    def __repr__(self) -> str:
        return f"<run {self.name}: {len(self.run.ranks)} rank{'' if len(self.run.ranks) == 1 else 's'}>"


class _Drawn(Mapping[str, T]):
    """Values by name that are made when they are first looked at."""

    def __init__(self, makers: Mapping[str, Callable[[], T]]) -> None:
        self._makers = makers
        self._drawn: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._drawn:
            if name not in self._makers:
                raise KeyError(f"nothing is called {name!r}: there are {', '.join(self._makers)}")
            self._drawn[name] = self._makers[name]()
        return self._drawn[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
