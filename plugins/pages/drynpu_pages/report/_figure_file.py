"""One figure of a run in a file of its own, for slides and papers: drawn by a browser that is installed here."""

from __future__ import annotations

import base64
import html
import re
import tempfile
from pathlib import Path
from urllib.parse import unquote

from drynpu import OutputError, require, staged
from drynpu.views.content import Chart, flat
from drynpu.views.page import Page
from drynpu.views.runs import Rank, Run, View
from drynpu.writers.files import new_file
from drynpu_pages.pages import all_pages
from drynpu_pages.report._picture import WAIT_MS, draw

FORMS = ("svg", "png", "pdf")
"""Ends of names of files that a figure can be written to."""
_WIDTH_PX = 1000
_DATA = re.compile(r'data-figure="data:image/[^,"]*,([^"]*)"')
_DOCUMENT = """<!DOCTYPE html><meta charset="utf-8"><body><div id="figure"></div><script>{plotly}</script><script>
const figure = {figure};
figure.layout.paper_bgcolor = figure.layout.plot_bgcolor = "#ffffff";
Plotly.newPlot("figure", figure.data, figure.layout)
  .then((drawn) => Plotly.toImage(drawn, {{ format: "{form}", width: {width}, height: {height}, scale: {scale} }}))
  .then((image) => {{ document.documentElement.dataset.figure = image; }});
</script></body>"""

_PAGE = """<!DOCTYPE html><meta charset="utf-8"><title>{title}</title><style>
@page {{ size: {width}px {height}px; margin: 0 }} body {{ margin: 0 }} svg {{ display: block }}
</style><body>{svg}</body>"""


def find_figure(run: Run, rank: Rank, name: str, pages: tuple[Page, ...] = ()) -> Chart:
    """
    Return the figure of a name, of the first page that has it as the page is first shown.

    Raises
    ------
    OutputError
        No page has it; the message names those that there are.
    """
    known: dict[str, None] = {}
    for page in staged("Looking for the figure", pages or all_pages()):
        if page.with_other:
            continue
        for block in flat(page.blocks(View(run, rank))):
            if isinstance(block, Chart) and block.name == name:
                return block
            known |= {block.name: None} if isinstance(block, Chart) else {}
    raise OutputError(f"no figure {name!r} in this run: there are {', '.join(known)}")


def write_figure(chart: Chart, file: Path) -> None:
    """
    Write a figure as SVG, PNG or PDF, by the end of the file's name. A PDF has one page, as large as the figure.

    Raises
    ------
    OutputError
        The name has another end, there is no browser, it draws nothing, or the file cannot be written.
    """
    form = file.suffix.lower().removeprefix(".")
    if form not in FORMS:
        raise OutputError(f"a figure is written as {', '.join(FORMS[:-1])} or {FORMS[-1]}, not as {file.name}")
    require("plotly", "dashboard")
    from plotly.offline import get_plotlyjs

    figure = str(chart.draw().to_json()).replace("<", "\u003c")
    scale = 2 if form == "png" else 1
    drawn = "svg" if form == "pdf" else form
    text = _DOCUMENT.format(
        plotly=get_plotlyjs(), figure=figure, form=drawn, width=_WIDTH_PX, height=chart.height_px, scale=scale
    )
    with tempfile.TemporaryDirectory() as scratch:
        document = Path(scratch, "figure.html")
        document.write_text(text, encoding="utf-8")
        said = draw(document, f"--virtual-time-budget={WAIT_MS}", "--dump-dom")
        match = _DATA.search(said)
        if match is None:
            raise OutputError(f"the browser drew nothing for the figure {chart.name!r}")
        data = html.unescape(match[1])
        image = base64.b64decode(data) if form == "png" else unquote(data).encode()
        if form == "pdf":
            image = _printed(image.decode(), chart, Path(scratch))
    with new_file(file) as out:
        out.write(image)


def _printed(svg: str, chart: Chart, scratch: Path) -> bytes:
    """
    Return a drawing as a PDF, whose lines and letters stay lines and letters.

    Raises
    ------
    OutputError
        The browser prints nothing.
    """
    page, printed = Path(scratch, "print.html"), Path(scratch, "figure.pdf")
    page.write_text(
        _PAGE.format(svg=svg, title=html.escape(chart.title), width=_WIDTH_PX, height=chart.height_px), encoding="utf-8"
    )
    draw(page, "--no-pdf-header-footer", f"--print-to-pdf={printed}")
    if not printed.is_file():
        raise OutputError(f"the browser printed nothing for the figure {chart.name!r}")
    return printed.read_bytes()
