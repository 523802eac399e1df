"""The timeline in a browser: zooming, searching, clicking, going back, and the file for other viewers."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")

pytestmark = pytest.mark.slow

OUTPUT = "ASCEND_PROFILER_OUTPUT"


def drawn(tab: Any) -> None:
    tab.wait_for_selector("#timeline-graph .barlayer path", state="attached")


def window(tab: Any) -> int:
    """The length of the window that the address states, ns; 0 if it states none."""
    found = dict(re.findall(r"(from|to)=(\d+)", tab.url))
    return int(found["to"]) - int(found["from"]) if found else 0


def test_from_the_whole_run_to_a_kernel_and_back(tab: Any, dashboard: Any, runs: Mapping[str, Path]) -> None:
    run = runs["torch"]
    with (run / OUTPUT / "kernel_details.csv").open(newline="") as file:
        kernel = next(row for row in csv.DictReader(file) if "MatMul" in row["Name"])
    tab.goto(dashboard.page(run, "timeline"))
    drawn(tab)
    tab.click("#timeline-in")
    tab.wait_for_url("**from=*")
    wide = window(tab)
    # Without the host's events, the first hit is the kernel.
    for kind in ("Host operators", "CANN API calls", "Task queue"):
        tab.click(f".choices button:has-text('{kind}')")
        tab.wait_for_selector(f".choices button[aria-pressed=false]:has-text('{kind}')")
    tab.click("#timeline-all")
    tab.wait_for_url(lambda address: "from=" not in address)
    tab.fill("#timeline-find", kernel["Name"])
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".event .fields")
    assert 0 < window(tab) < wide
    said = tab.locator(".event").inner_text()
    assert kernel["Name"] in said
    duration = round(float(kernel["Duration(us)"]) * 1000)
    assert f"({duration} ns)" in said
    assert kernel["Input Shapes"].strip('"') in said
    tab.reload()
    tab.wait_for_selector(".event .fields")
    assert tab.locator(".event").inner_text() == said
    tab.go_back()
    tab.wait_for_url(lambda address: "event=" not in address)


def test_the_file_for_other_viewers_is_that_of_the_run(tab: Any, dashboard: Any, runs: Mapping[str, Path]) -> None:
    run = runs["torch"]
    tab.goto(dashboard.page(run, "timeline"))
    drawn(tab)
    with tab.expect_download() as download:
        tab.click("text=Download trace_view.json")
    assert Path(download.value.path()).read_bytes() == (run / OUTPUT / "trace_view.json").read_bytes()
