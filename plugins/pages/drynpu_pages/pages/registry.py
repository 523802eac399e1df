"""The pages in the order of the menu."""

from __future__ import annotations

from collections.abc import Sequence

from drynpu import OutputError, PluginError
from drynpu.plugins import Plugins, from_plugins
from drynpu.views.page import Page
from drynpu_pages.pages import (
    calculation,
    cluster,
    comparison,
    critical,
    data,
    flame,
    hints,
    host,
    memory,
    operators,
    overview,
    steps,
    timeline,
    whatif,
)

PAGES: tuple[Page, ...] = (
    overview.PAGE,
    steps.PAGE,
    operators.PAGE,
    critical.PAGE,
    whatif.PAGE,
    flame.PAGE,
    calculation.PAGE,
    timeline.PAGE,
    cluster.PAGE,
    data.PAGE,
    memory.PAGE,
    host.PAGE,
    hints.PAGE,
    comparison.PAGE,
)


def all_pages() -> tuple[Page, ...]:
    """Return our pages in the order of the menu, then the pages that other plugins add."""
    return (*PAGES, *from_plugins(added_pages))


def added_pages(plugins: Plugins) -> Sequence[Page]:
    """
    Return the pages that plugins add.

    Raises
    ------
    PluginError
        What a plugin returns is no page, or its name is taken.
    """
    added: list[Page] = []
    for place, page in plugins.pages():
        if not isinstance(page, Page):
            raise PluginError(f"{place}: drynpu_pages returned {page!r}, which is no drynpu.views.page.Page")
        if page.name in {each.name for each in (*PAGES, *added)}:
            raise PluginError(f"{place}: the page {page.name!r} exists already; choose another name")
        added.append(page)
    return added


def find_page(name: str) -> Page:
    """
    Return a page by its name.

    Raises
    ------
    OutputError
        There is none; the message names those that there are.
    """
    pages = all_pages()
    for page in pages:
        if page.name == name:
            return page
    raise OutputError(f"no page {name!r}: there are {', '.join(page.name for page in pages)}")
