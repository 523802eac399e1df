"""Numbers lead to their window in the timeline."""

from __future__ import annotations

import polars as pl
import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu.views.content import Column, Fact, Facts, Table, flat
from drynpu.views.runs import View
from drynpu_pages.dashboard._address import window_address
from drynpu_pages.dashboard._blocks import components
from drynpu_pages.dashboard._tables import linked_cells, rows_of
from drynpu_pages.pages import find_page

START = 1_795_951_770_250_256_644


def table(rows: int) -> Table:
    starts = [START + 1000 * row if row else None for row in range(rows)]
    ends = [None if start is None else start + 400 for start in starts]
    frame = pl.DataFrame({"name": [f"n{row}" for row in range(rows)], "start_ns": starts, "end_ns": ends})
    return Table("t", "T", frame, (Column("name", "name"),), window=("start_ns", "end_ns"))


def test_a_window_has_a_quarter_on_both_sides() -> None:
    assert window_address("a/b", "0", (1000, 1400)) == "/run/a/b/timeline?rank=0&from=900&to=1500"


def test_rows_of_a_grid_lead_to_the_timeline_and_times_keep_their_digits() -> None:
    block = table(3)
    cells = linked_cells(block, rows_of(block, None, "").rows, "run", "")
    assert [set(cell) for cell in cells] == [{"name", "timeline"}] * 3
    assert cells[0]["timeline"] == ""
    assert cells[1]["timeline"] == f"[show](/run/run/timeline?from={START + 900}&to={START + 1500})"


def test_small_tables_and_facts_lead_there_as_well(view: View) -> None:
    shown = str(components([table(2), Facts((Fact("Peak", "1 ms", window=(START, START + 400)),))], view))
    assert shown.count(f"/timeline?rank=single&amp;from={START - 100}") + shown.count(f"from={START - 100}") >= 1
    assert f"from={START + 900}" in shown


@pytest.mark.parametrize("page", ["overview", "steps", "operators", "flame"])
def test_pages_say_when_their_numbers_are(page: str, view: View) -> None:
    profile = view.rank.profile
    first, last = int(profile.host_ops["start_ns"].min()), int(profile.kernels["start_ns"].max()) + 10**9  # type: ignore[arg-type]
    blocks = flat(find_page(page).build(view))
    windows = [fact.window for block in blocks if isinstance(block, Facts) for fact in block.facts if fact.window]
    for block in blocks:
        if isinstance(block, Table) and block.window is not None:
            windows += block.frame.select(block.window).rows()
    assert windows
    assert all(first <= start < end <= last for start, end in windows)
