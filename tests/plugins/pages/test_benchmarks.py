"""The benchmarks of pages and of the timeline run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.tiny_benchmarks import run_tiny

from drynpu_pages.pages import PAGES
from drynpu_pages.report import find_browser


@pytest.mark.slow
def test_every_page_of_a_run_is_measured() -> None:
    pytest.importorskip("plotly", reason="figures are an extra")
    lines = "\n".join(run_tiny("pages.py", 3000))
    for page in PAGES:
        assert f"{page.title}: first" in lines
    assert "Memory: Position: Begin, again" in lines


def test_every_window_of_a_timeline_is_measured() -> None:
    lines = "\n".join(run_tiny("timeline.py", 2000))
    for what in ("index of", "window at the middle", "its trace, again", "strip of", "picture of"):
        assert f"\n{what}" in lines


def test_pages_are_measured_in_a_browser(recorded: Path) -> None:
    pytest.importorskip("dash", reason="the dashboard is an extra")
    pytest.importorskip("playwright", reason="pages are looked at in a browser")
    if find_browser() is None:
        pytest.skip("no browser: install chromium")
    head, *lines = run_tiny("pages.py", "--browser", recorded.parent, BROWSER_PAGES=("overview", "flame"))
    assert head.split() == ["page", "first", "paint", "heading", "all", "there", "one", "use"]
    found = [re.fullmatch(r"(.+?) +(\d+) ms +(\d+) ms +(\d+) ms +(\d+) ms  (.+)", line) for line in lines]
    rows = {row[1]: row.groups()[1:] for row in found if row is not None}
    assert set(rows) == {"Overview", "Flame graph"}
    for paint, heading, whole, use, _ in rows.values():
        assert 0 < int(heading) <= int(whole)
        assert int(paint) > 0
        assert int(use) > 0
    assert [rows[title][-1] for title in rows] == ["theme", "choose Step"]
