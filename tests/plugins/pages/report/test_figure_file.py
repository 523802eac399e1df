"""One figure in a file of its own."""

from __future__ import annotations

import re
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


def test_a_figure_is_an_svg_a_png_or_a_pdf(view: View, tmp_path: Path) -> None:
    chart = find_figure(view.run, view.rank, "flame", (find_page("flame"),))
    with pytest.raises(OutputError, match=r"^a figure is written as svg, png or pdf, not as x\.gif$"):
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
    write_figure(chart, tmp_path / "x.pdf")
    printed = (tmp_path / "x.pdf").read_bytes()
    # A point is 1/72 inch, a pixel 1/96.
    assert f"/MediaBox [0 0 750 {chart.height_px * 72 // 96}]".encode() in printed
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    assert b"/Subtype /Image" not in printed, "a picture of the figure would be one"
    assert b"/Font" in printed
    assert f"/Title ({chart.title})".encode() in printed


def test_without_a_browser_one_line_says_so(view: View, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    chart = find_figure(view.run, view.rank, "flame", (find_page("flame"),))
    with pytest.raises(OutputError, match=r"^a picture needs a browser that is installed here: chromium, [a-z, -]+$"):
        write_figure(chart, tmp_path / "x.pdf")
    assert not (tmp_path / "x.pdf").exists()
