"""The pages in the order of the menu."""

from __future__ import annotations

from drynpu._errors import OutputError
from drynpu.views.pages import (
    calculation,
    cluster,
    comparison,
    data,
    hints,
    host,
    memory,
    operators,
    overview,
    steps,
    timeline,
)
from drynpu.views.pages._page import Page

PAGES: tuple[Page, ...] = (
    overview.PAGE,
    steps.PAGE,
    operators.PAGE,
    calculation.PAGE,
    timeline.PAGE,
    cluster.PAGE,
    data.PAGE,
    memory.PAGE,
    host.PAGE,
    hints.PAGE,
    comparison.PAGE,
)


def find_page(name: str) -> Page:
    """
    Return a page by its name.

    Raises
    ------
    OutputError
        There is none; the message names those that there are.
    """
    for page in PAGES:
        if page.name == name:
            return page
    raise OutputError(f"no page {name!r}: there are {', '.join(page.name for page in PAGES)}")
