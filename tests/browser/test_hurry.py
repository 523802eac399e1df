"""A reader is faster than the server: nothing that was pressed, dragged or chosen meanwhile is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")

pytestmark = pytest.mark.slow

ANSWERS = re.compile("/_dash-update-component")
FIGURE = "#timeline-graph .main-svg"
DRAWN = "#timeline-graph .barlayer path"


@contextmanager
def slow_server(tab: Any, first: Callable[[], None]) -> Iterator[None]:
    """Hold every request from *first*'s on, until the block is left."""
    held: list[Any] = []
    answering = False
    tab.route(ANSWERS, lambda route: route.continue_() if answering else held.append(route))
    with tab.expect_request(ANSWERS):
        first()
    yield
    answering = True
    for route in held:
        route.continue_()


def window(address: str) -> int:
    """Return the length of the window that an address states, ns."""
    found = dict(re.findall(r"(from|to)=(\d+)", address))
    return int(found["to"]) - int(found["from"])


def test_every_move_on_the_timeline_counts(tab: Any, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "timeline"))
    tab.wait_for_selector(DRAWN, state="attached")
    tab.click("#timeline-in")
    tab.wait_for_url("**from=*")
    before = window(tab.url)
    tab.wait_for_load_state("networkidle")
    with slow_server(tab, lambda: tab.click("#timeline-in")):
        tab.get_by_role("button", name="Task queue", exact=True).click()
        # The figure tells of its new size, which is no move of the reader.
        tab.set_viewport_size({"width": 1180, "height": 760})
        tab.wait_for_function(f"document.querySelector('{FIGURE}').getBoundingClientRect().width < 1000")
        tab.keyboard.press("w")
        tab.get_by_role("button", name="16", exact=True).click()
    tab.wait_for_url(lambda address: "hide=queue" in address and "levels=16" in address)
    assert window(tab.url) == before // 4


def test_every_choice_counts(tab: Any, ready: Any, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "operators"))
    ready(tab)
    with slow_server(tab, lambda: tab.get_by_label("Where").select_option("Host")):
        tab.get_by_label("Step").select_option("4")
    tab.wait_for_url(lambda address: "where=host" in address and "step=4" in address)
    tab.get_by_role("heading", name="By name", exact=True).wait_for()
    assert tab.get_by_label("Where").input_value() == "host"
    assert tab.get_by_label("Step").input_value() == "4"


def test_rows_that_were_passed_by_are_there(tab: Any, ready: Any, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "operators"))
    ready(tab)
    section = tab.locator("section", has=tab.locator("h2", has_text="All kernels"))
    section.get_by_label("Page Size").click()
    tab.get_by_role("option", name="100", exact=True).click()
    ready(tab)
    with slow_server(tab, section.get_by_label("Last Page").click):
        section.get_by_label("Previous Page").click()
    ready(tab)
    section.get_by_label("Last Page").click()
    ready(tab)
    names = section.locator(".ag-row [col-id=name]").all_text_contents()
    assert names
    assert all(names)
