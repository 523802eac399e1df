"""All pages of a run in one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TypeAlias

from drynpu import __version__, require, staged
from drynpu.views.content import EMPTY, Block, Note
from drynpu.views.page import Page
from drynpu.views.runs import Rank, Run, Selection, View
from drynpu.writers.files import new_file
from drynpu_pages.pages import MODELLED, all_pages, is_modelled
from drynpu_pages.report._html import MOST_ROWS, blocks_html, text_html

_STYLE = Path(__file__).parents[1] / "assets" / "style.css"
_ASSETS = Path(__file__).parent / "assets"
PICTURE_ROWS = 20
"""Rows of a table in a picture, where nobody can scroll."""
_Titled: TypeAlias = tuple[str, Selection]
"""A selection with its title in a document."""


def write_report(run: Run, rank: Rank, file: Path) -> None:
    """
    Write the pages of a rank as one HTML document, with plotly's script in it.

    Raises
    ------
    DrynpuError
        The profile cannot be read, or the file cannot be written.
    """
    require("plotly", "dashboard")
    from plotly.offline import get_plotlyjs

    document = report_html(run, rank, get_plotlyjs())
    with new_file(file) as out:
        out.write(document.encode())


def framed_html(title: str, body: str) -> str:
    """
    Return HTML as a frame with a document of its own, for a page that has other styles, as a notebook has.

    Parameters
    ----------
    body:
        HTML whose texts are escaped, e.g. of `blocks_html`.
    """
    style = _STYLE.read_text(encoding="utf-8") + (_ASSETS / "report.css").read_text(encoding="utf-8")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style>'
    document = escape(f"<!DOCTYPE html><html><head>{head}</head><body><main>{body}</main></body></html>")
    looks = "width:100%;height:560px;border:0"
    return f'<iframe title="{text_html(title)}" srcdoc="{document}" style="{looks}"></iframe>'


def report_html(run: Run, rank: Rank, plotly_script: str) -> str:
    """Return the document of a report: all pages of one run, each with every option of its first control."""
    sections = [(page, list(_selections(page, rank))) for page in all_pages() if not page.with_other]
    return _document(run, rank, plotly_script, sections, "")


def page_html(run: Run, rank: Rank, page: Page, plotly_script: str, theme: str) -> str:
    """
    Return the document of one page as it is first shown, without what a picture has no use for.

    Parameters
    ----------
    theme:
        ``light`` or ``dark``.
    """
    looks = f' data-theme="{theme}" data-picture'
    return _document(run, rank, plotly_script, [(page, [("", Selection())])], looks, PICTURE_ROWS)


def _document(
    run: Run,
    rank: Rank,
    plotly_script: str,
    sections: Sequence[tuple[Page, Sequence[_Titled]]],
    looks: str,
    most_rows: int = MOST_ROWS,
) -> str:
    pages = [_parts(page, run, rank, selections, most_rows) for page, selections in sections]
    parts = [part for page in staged("Writing pages", pages) for part in page]
    menu = "".join(f'<a href="#{page.name}">{text_html(page.title)}</a>' for page, _ in sections)
    style = _STYLE.read_text(encoding="utf-8") + (_ASSETS / "report.css").read_text(encoding="utf-8")
    script = (_ASSETS / "report.js").read_text(encoding="utf-8")
    who = run.name if len(run.ranks) == 1 else f"{run.name}, rank {rank.label}"
    template = Template((_ASSETS / "report.html").read_text(encoding="utf-8"))
    return template.substitute(
        version=__version__,
        title=text_html(who),
        looks=looks,
        style=style,
        menu=menu,
        pages="\n".join(parts),
        plotly=plotly_script,
        script=script,
    )


def _parts(page: Page, run: Run, rank: Rank, selections: Sequence[_Titled], most_rows: int) -> Iterator[str]:
    shown = [(title, page.blocks(View(run, rank, selection))) for title, selection in selections]
    tag = f'<span class="tag" title="{MODELLED}">modelled</span>' if any(is_modelled(each) for _, each in shown) else ""
    head = f'<h2 class="page">{text_html(page.title)}</h2><p class="about">{text_html(page.about)}{tag}</p>'
    yield f'<section id="{page.name}">{head}'
    for title, blocks in shown:
        if title and not _has_content(blocks):
            continue
        yield (f"<h3>{text_html(title)}</h3>" if title else "") + blocks_html(blocks, most_rows=most_rows)
    yield "</section>"


def _selections(page: Page, rank: Rank) -> Iterator[_Titled]:
    """Yield the parts of a page that a document shows: each option of its first control, the defaults of the others."""
    controls = page.controls(rank)
    if not controls:
        yield "", Selection()
        return
    first = controls[0]
    for value, title in first.options:
        yield title, Selection(choices={first.name: value})


def _has_content(blocks: Sequence[Block]) -> bool:
    return any(not (isinstance(block, Note) and block.kind == EMPTY) for block in blocks)
