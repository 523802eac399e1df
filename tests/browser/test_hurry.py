"""A reader is faster than the server: nothing that was chosen meanwhile is lost."""

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
