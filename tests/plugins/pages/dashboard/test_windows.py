"""Numbers lead to their window in the timeline."""

from __future__ import annotations

import polars as pl
import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")

from drynpu.tables import call_name
from drynpu.views.content import Chart, Column, Fact, Facts, Table, find_block, flat
from drynpu.views.runs import Run, View
from drynpu_pages.dashboard._address import window_address
from drynpu_pages.dashboard._blocks import components
from drynpu_pages.dashboard._tables import linked_cells, rows_of, window_addresses
from drynpu_pages.figures import window_marks
from drynpu_pages.pages import RANK, find_page

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


def test_rows_of_several_ranks_lead_to_their_own_timelines() -> None:
    block = table(4)
    frame = block.frame.with_columns(pl.Series(RANK, ["5", "5", "7", None]))
    assert window_addresses(block, frame, "run", "1") == [
        "",
        *(window_address("run", rank, (START + at, START + at + 400)) for rank, at in (("5", 1000), ("7", 2000))),
        "",
    ]


@pytest.mark.parametrize("page", ["overview", "steps", "operators", "flame", "critical", "whatif", "calculation"])
def test_pages_say_when_their_numbers_are(page: str, view: View) -> None:
    profile = view.rank.profile
    first, last = int(profile.host_ops["start_ns"].min()), int(profile.kernels["start_ns"].max()) + 10**9  # type: ignore[arg-type]
    blocks = flat(find_page(page).build(view))
    windows = [fact.window for block in blocks if isinstance(block, Facts) for fact in block.facts if fact.window]
    for block in blocks:
        if isinstance(block, Table) and block.window is not None:
            windows += block.frame.select(block.window).drop_nulls().rows()
    assert windows
    assert all(first <= start < end <= last for start, end in windows)


def test_the_host_leads_to_its_longest_calls(view: View) -> None:
    """Of each call the longest one, by a plain search through all."""
    shown: Table = find_block(find_page("host").build(view), "calls", Table)
    calls = view.rank.profile.api.with_columns(call_name())
    for level, name, start, end in shown.frame.select("level", "name", "start_ns", "end_ns").iter_rows():
        same = calls.filter((pl.col("level") == level) & (pl.col("name") == name))
        assert end - start == (same["end_ns"] - same["start_ns"]).max()
        assert same.filter((pl.col("start_ns") == start) & (pl.col("end_ns") == end)).height >= 1
    threads: Table = find_block(find_page("host").build(view), "threads", Table)
    assert threads.frame.select(threads.window or ()).null_count().sum_horizontal().item() == 0


def test_the_cluster_leads_to_the_longest_of_each_rank(genuine: Run) -> None:
    if len(genuine.ranks) == 1:
        pytest.skip("one rank")
    blocks = find_page("cluster").build(View(genuine, genuine.rank()))
    ranks: Table = find_block(blocks, "rank-table", Table)
    assert ranks.frame[RANK].to_list() == genuine.labels
    for rank, start, end in ranks.frame.select(RANK, "start_ns", "end_ns").iter_rows():
        times = genuine.rank(rank).profile.communication_ops
        assert end - start == times["duration_ns"].max()
        assert start in times["start_ns"]
    links: Table = find_block(blocks, "link-table", Table)
    assert links.frame.drop_nulls("start_ns").height == links.frame.height
    for source, target, rank, start in links.frame.select("source", "target", RANK, "start_ns").iter_rows():
        tasks = genuine.rank(rank).profile.frame("communication_tasks")
        assert (
            tasks.filter((pl.col("src_rank") == source) & (pl.col("dst_rank") == target))["start_ns"]
            .is_in([start])
            .any()
        )
    steps: Table = find_block(blocks, "rank-step-table", Table)
    assert {RANK, "start_ns"} <= set(steps.frame.columns)


@pytest.mark.parametrize(
    ("page", "chart"),
    [("overview", "step-time"), ("steps", "busy"), ("critical", "critical-path"), ("critical", "critical-steps"),
     ("host", "calls-chart"), ("operators", "types-chart")],
)  # fmt: skip
def test_bars_are_clicked_to_their_window(page: str, chart: str, view: View) -> None:
    block: Chart = find_block(find_page(page).build(view), chart, Chart)
    data = [mark for trace in block.draw().data for mark in trace.customdata]
    marks = [mark if isinstance(mark, str) else mark[-1] for mark in data]
    assert any(marks)
    for mark in filter(None, marks):
        start, end = map(int, mark.removeprefix("window=").split("-"))
        assert 0 < start < end


def test_points_without_a_time_lead_nowhere() -> None:
    assert window_marks([(5, 9), None]) == ["window=5-9", ""]
    assert window_marks([]) == []
