"""
Every page of a run in a headless Chromium: when something is painted, when all is there, and how long one use takes.

`pages.py --browser` calls it. The dashboard runs in a process of its own, as a user starts it. Each page is opened in a
context of its own, so that scripts are fetched again, as by somebody who comes from a link. The use is the first of:
another step, another choice of the page, a table sorted anew, the other theme. A page is there when its figures are
drawn and its rows filled.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drynpu.views.runs import find_runs
from drynpu_pages.report import find_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

WAIT_MS = 120_000
EXAMPLE = Path(__file__).parents[1] / "examples" / "torch" / "train_gpt.py"
QUIET = {"KINETO_LOG_LEVEL": "99", "TORCH_CPP_LOG_LEVEL": "ERROR", "DRYNPU_QUIET": "1"}
PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
THERE = """() => document.querySelector("main h1") && !document.querySelector("[data-dash-is-loading=true]")
  && [...document.querySelectorAll("main figure")].every((place) => place.querySelector(".main-svg"))
  && [...document.querySelectorAll("main .rows")].every((place) => place.querySelector(".ag-row"))
  && !/^$|Loading/.test(document.getElementById("timeline-status")?.textContent ?? "events")"""
HEAD = "document.querySelector('main h1')"
ANSWERS = "_dash-update-component"
SORTABLE = "main .ag-header-cell-sortable .ag-header-cell-label"


def record(folder: Path) -> Path:
    """Record the example in a folder, and return it."""
    command = [sys.executable, "-m", "drynpu", "run", str(EXAMPLE)]
    subprocess.run(command, cwd=folder, env={**os.environ, **QUIET}, check=True, capture_output=True)
    return folder


@contextlib.contextmanager
def served(base: Path) -> Iterator[str]:
    """Serve the runs below a folder; the value is the address."""
    command = [sys.executable, "-m", "drynpu", "dashboard", str(base), "--port", "0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            match = re.search(r"http://\S+", process.stdout.readline() if process.stdout else "")
            if match is None:
                sys.exit("the dashboard did not start")
            yield match.group()
        finally:
            process.kill()


def menu_of(tab: Page) -> list[tuple[str, str]]:
    """Return name and title of the pages that the menu of a run has."""
    links = tab.locator("nav a").all()
    return [(str(each.get_attribute("href")).rsplit("/", 1)[1].split("?")[0], each.inner_text()) for each in links]


def opened(browser: Browser, address: str) -> tuple[Page, tuple[float, float, float]]:
    """Open a page in a context of its own; return it, and when it was painted, had its heading, and was whole, ms."""
    tab = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    tab.set_default_timeout(WAIT_MS)
    begin = time.perf_counter()
    tab.goto(address)
    tab.wait_for_function(HEAD)
    head = (time.perf_counter() - begin) * 1000
    tab.wait_for_function(THERE)
    whole = (time.perf_counter() - begin) * 1000
    paint = tab.evaluate(PAINT)
    return tab, (head if paint is None else float(paint), head, whole)


def used(tab: Page) -> tuple[str, float]:
    """Use a page once; return what was done, and how long it took until all was there again, ms."""
    begin = time.perf_counter()
    for choice in tab.locator("#top select").all():
        label, values = _label_and_values(choice)
        others = [value for value in values if value != choice.input_value()]
        if others:
            with tab.expect_response(lambda answer: ANSWERS in answer.url):
                choice.select_option(others[-1])
            tab.wait_for_function(THERE)
            return f"choose {label}", (time.perf_counter() - begin) * 1000
    if tab.locator(SORTABLE).count():
        with tab.expect_response(lambda answer: ANSWERS in answer.url):
            tab.locator(SORTABLE).first.click()
        tab.wait_for_function(THERE)
        return "sort", (time.perf_counter() - begin) * 1000
    ground = "getComputedStyle(document.body).backgroundColor"
    before = tab.evaluate(ground)
    tab.get_by_role("button", name="Light or dark").click()
    tab.wait_for_function(f"{ground} !== '{before}'")
    return "theme", (time.perf_counter() - begin) * 1000


def _label_and_values(choice: Locator) -> tuple[str, list[str]]:
    label, *values = choice.evaluate(
        "list => [list.labels[0].innerText, ...[...list.options].map((each) => each.value)]"
    )
    return str(label), [str(value) for value in values]


def measured(base: Path, names: Sequence[str]) -> Iterator[tuple[str, tuple[float, float, float], str, float]]:
    """Yield title, times of `opened`, the use, and its time in ms, of each page of the newest run of a folder."""
    from playwright.sync_api import sync_playwright

    run = find_runs(base)[0]
    name = run.folders[0].path.relative_to(base).as_posix()
    with served(base) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"])
        # What is read once is read before: the first page that somebody opens would stand for all.
        tab, _ = opened(browser, f"{address}run/{name}/overview")
        pages = [each for each in menu_of(tab) if not names or each[0] in names]
        for page, title in pages:
            tab.context.close()
            tab, times = opened(browser, f"{address}run/{name}/{page}")
            yield (title, times, *used(tab))
        browser.close()


def report(base: Path | None, names: Sequence[str]) -> None:
    """Print the times of each page."""
    with tempfile.TemporaryDirectory() as folder:
        place = record(Path(folder)) if base is None else base
        print(f"{'page':20s}" + "".join(f"{name:>14s}" for name in ("first paint", "heading", "all there", "one use")))
        for title, times, what, use in measured(place, names):
            print(f"{title:20s}" + "".join(f"{each:11.0f} ms" for each in (*times, use)) + f"  {what}", flush=True)
