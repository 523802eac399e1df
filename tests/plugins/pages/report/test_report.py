"""The report opens offline, says what the pages say, and shows hostile names as text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

pytest.importorskip("plotly", reason="figures are an extra")

from drynpu.views.content import Column, Fact, Facts, Hint, Note, Row, Table
from drynpu.views.runs import Run, View
from drynpu_pages.pages import find_page
from drynpu_pages.report import blocks_html, write_report
from drynpu_pages.report._report import page_html, report_html

HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m"


def test_a_report_is_one_file_without_foreign_addresses(view: View, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    write_report(view.run, view.rank, file)
    text = file.read_text(encoding="utf-8")
    assert len(text) < 8 * 2**20
    own = report_html(view.run, view.rank, "")
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!#)[^"'\s>]+""", own)
    assert "url(" not in own
    assert "@import" not in own
    assert "default-src 'none'" in own
    assert "aclnnAdd_AddAiCore_Add" in own
    assert "Ascend910B3" in own


def test_hostile_names_are_text() -> None:
    frame = pl.DataFrame({"name": [HOSTILE, "</script><b>"], "time": [1.25, None]})
    columns = (Column("name", HOSTILE), Column("time", "time (us)", 3))
    blocks = [
        Facts((Fact(HOSTILE, HOSTILE, HOSTILE),), HOSTILE),
        Table("t", HOSTILE, frame, columns, HOSTILE),
        Note(HOSTILE),
        Hint(HOSTILE, HOSTILE, HOSTILE, 12.5),
    ]
    text = blocks_html(blocks)
    assert "<img" not in text
    assert "<b>" not in text
    assert "\x1b" not in text
    assert text.count("&lt;img src=x onerror=alert(1)&gt;") >= 9
    assert '<td class="number">1.250</td>' in text
    assert '<td class="number"></td>' in text


def test_data_of_figures_cannot_end_their_element(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    from drynpu.views.content import Chart
    from drynpu_pages.figures import bars

    chart = Chart("c", "C", lambda: bars(["</script><script>alert(1)"], [1.0], axis_title="ms", unit="ms"), "One bar.")
    text = blocks_html([chart])
    assert text.count("</script>") == 1


def test_long_tables_say_how_long_they_are() -> None:
    frame = pl.DataFrame({"n": range(1234)})
    text = blocks_html([Table("t", "T", frame, (Column("n", "n"),))])
    assert text.count("<tr>") == 201
    assert "the first 200 of 1\u202f234 rows" in text
    few = blocks_html([Row((Table("t", "T", frame, (Column("n", "n"),)),))], most_rows=7)
    assert few.count("<tr>") == 8
    assert "the first 7 of 1\u202f234 rows" in few


def test_a_picture_says_how_many_rows_it_leaves_out(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can scroll in it, so nothing is cut there."""
    monkeypatch.setattr("drynpu_pages.report._report.PICTURE_ROWS", 4)
    kernels = view.rank.profile.kernels.height
    text = page_html(view.run, view.rank, find_page("operators"), "", "light")
    table = text[text.index("<h3>All kernels") :]
    assert f"the first 4 of {kernels} rows" in table
    assert table[: table.index("</table>")].count("<tr>") == 5
    assert "[data-picture] .scroll { max-height: none; overflow: visible; }" in text


@pytest.mark.parametrize("again", [(), ("--force",)])
def test_the_command_replaces_nothing_unasked(
    drynpu: Callable[..., Any], recorded: Path, tmp_path: Path, again: tuple[str, ...]
) -> None:
    file = tmp_path / "out.html"
    ended = drynpu("report", recorded, "-o", file)
    assert ended.code == 0, ended.err
    assert re.search(r"Written: .*out\.html \(\d\.\d+ MiB\)", ended.out.replace("\n", ""))
    assert ended.out.endswith(f"\nOpen:    {file.as_uri()}\n")
    second = drynpu("report", recorded, "-o", file, *again)
    assert second.code == (0 if again else 1)
    assert second.err == ("" if again else f"drynpu: {file} exists; --force replaces it\n")


def test_without_a_browser_a_picture_is_refused(
    drynpu: Callable[..., Any], recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = drynpu("report", recorded, "-o", tmp_path / "out.png")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("drynpu: a picture needs a browser that is installed here: chromium, ")
    assert not (tmp_path / "out.png").exists()


def test_a_browser_that_draws_nothing_is_named(
    drynpu: Callable[..., Any], recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = tmp_path / "chromium"
    browser.write_text("#!/bin/sh\nexit 0\n")
    browser.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    ended = drynpu("report", recorded, "-o", tmp_path / "out.png", "--page", "steps")
    assert ended.code == 1
    assert ended.err == f"drynpu: {browser} drew no picture of steps\n"


def test_a_picture_has_one_page_as_it_is_first_shown(view: View) -> None:
    text = page_html(view.run, view.rank, find_page("operators"), "", "dark")
    assert '<html lang="en" data-theme="dark" data-picture>' in text
    assert text.count('<h2 class="page">') == 1
    assert text.count("<h3>All kernels") == 1
    assert "By name" not in text


def test_runs_of_genuine_ranks_can_be_written(genuine: Run) -> None:
    assert "<main" in report_html(genuine, genuine.rank(), "")


def test_a_report_has_no_page_that_needs_another_run(view: View) -> None:
    text = report_html(view.run, view.rank, "")
    assert '<a href="#hints">' in text
    assert "#comparison" not in text
    assert "Choose the run" not in text
