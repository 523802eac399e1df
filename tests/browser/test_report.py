"""A report in a browser without a server."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("plotly", reason="figures are an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")

from drynpu_pages.pages import PAGES


@pytest.mark.parametrize(
    "kind", ["torch", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("mindspore", "torch_db_level1"))]
)
def test_a_report_opens_offline(tab: Any, runs: Mapping[str, Path], tmp_path: Path, kind: str) -> None:
    if kind not in runs:
        pytest.skip(f"there is no {kind} run here")
    file = tmp_path / "report.html"
    command = [sys.executable, "-m", "drynpu", "report", str(runs[kind]), "-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert file.stat().st_size < 8 * 2**20
    tab.context.set_offline(True)
    tab.goto(file.as_uri())
    assert tab.locator("h2.page").all_inner_texts() == [page.title for page in PAGES if not page.with_other]
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    plots = tab.locator(".plot")
    for number in range(plots.count()):
        plots.nth(number).scroll_into_view_if_needed()
        plots.nth(number).locator("svg.main-svg").first.wait_for(state="attached")


@pytest.mark.slow
def test_tables_of_a_report_sort_and_search(tab: Any, runs: Mapping[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    subprocess.run([sys.executable, "-m", "drynpu", "report", str(runs["torch"]), "-o", str(file)], check=True)
    tab.goto(file.as_uri())
    # By its whole title: "Time by type" is the chart above the table.
    section = tab.locator("section.card", has=tab.locator("h3", has_text=re.compile("^By type(modelled)?$"))).first
    section.get_by_role("columnheader", name="count", exact=True).click()
    column = section.locator("tbody tr:visible td:nth-child(3)").all_inner_texts()
    assert [int(text) for text in column] == sorted(map(int, column), reverse=True)
    section.locator("input").fill("matmul")
    shown = section.locator("tbody tr:visible td:first-child").all_inner_texts()
    assert shown
    assert all("matmul" in name.lower() for name in shown)


@pytest.mark.slow
def test_on_a_phone_nothing_covers_the_page(tab: Any, runs: Mapping[str, Path], tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    subprocess.run([sys.executable, "-m", "drynpu", "report", str(runs["torch"]), "-o", str(file)], check=True)
    tab.set_viewport_size({"width": 390, "height": 800})
    tab.goto(file.as_uri())
    tab.locator("#memory h2.page").scroll_into_view_if_needed()
    tab.evaluate("document.querySelector('#memory').scrollIntoView()")
    for part in ("header", "nav"):
        assert tab.locator(part).bounding_box()["y"] + tab.locator(part).bounding_box()["height"] <= 0
