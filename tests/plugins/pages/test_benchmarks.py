"""The benchmarks of pages and of the timeline run."""

from __future__ import annotations

import pytest
from tests.tiny_benchmarks import run_tiny

from drynpu_pages.pages import PAGES


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
