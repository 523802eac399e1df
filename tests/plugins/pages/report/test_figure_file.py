"""One figure in a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("plotly", reason="figures are an extra")

from drynpu import OutputError
from drynpu.views.runs import View
from drynpu_pages.pages import find_page
from drynpu_pages.report import find_browser, find_figure, write_figure


def test_a_wrong_name_lists_the_figures(view: View) -> None:
    pages = (find_page("overview"), find_page("flame"))
    with pytest.raises(OutputError, match=r"^no figure 'flam' in this run: there are step-time, top-types, flame$"):
        find_figure(view.run, view.rank, "flam", pages)


def test_a_figure_is_an_svg_or_a_png(view: View, tmp_path: Path) -> None:
    chart = find_figure(view.run, view.rank, "flame", (find_page("flame"),))
    with pytest.raises(OutputError, match=r"^a figure is written as svg or png, not as x\.gif$"):
        write_figure(chart, tmp_path / "x.gif")


@pytest.mark.slow
@pytest.mark.skipif(find_browser() is None, reason="needs a browser")
def test_a_browser_draws_it(view: View, tmp_path: Path) -> None:
    chart = find_figure(view.run, view.rank, "flame", (find_page("flame"),))
    write_figure(chart, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text()
    assert text.startswith("<svg ")
    assert "aten::add" in text
    write_figure(chart, tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
