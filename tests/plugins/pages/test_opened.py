"""A run in a notebook says what the pages and the files say."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import drynpu
from drynpu_pages.opened import OpenedRun
from drynpu_pages.pages import PAGES

NOTEBOOK = Path(__file__).parents[3] / "examples" / "notebook" / "look_at_a_run.ipynb"


@pytest.fixture
def opened(recorded: Path) -> OpenedRun:
    run: OpenedRun = drynpu.open_run(recorded)
    return run


def test_tables_are_those_of_the_files(opened: OpenedRun, recorded: Path) -> None:
    with (recorded / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kernels = opened.tables["kernels"]
    assert sorted(kernels["name"]) == sorted(row["Name"] for row in rows)
    assert kernels["duration_ns"].sum() == pytest.approx(sum(float(row["Duration(us)"]) for row in rows) * 1000)
    with pytest.raises(KeyError, match="kernel"):
        opened.tables["kernel"]


def test_figures_are_named_by_page_and_drawn_when_looked_at(opened: OpenedRun) -> None:
    pytest.importorskip("plotly", reason="figures are an extra")
    names = list(opened.figures)
    assert {name.split("/")[0] for name in names} <= {page.name for page in PAGES}
    figure = opened.figures["overview/step-time"]
    assert figure is opened.figures["overview/step-time"]
    assert list(figure.data[0].x) == ["0", "1"]
    with pytest.raises(KeyError, match="there are overview/step-time"):
        opened.figures["overview/nothing"]


def test_a_run_shows_itself_in_a_frame_that_loads_nothing(opened: OpenedRun) -> None:
    text = opened._repr_html_()
    assert text.startswith("<iframe") and text.count("<") == 2  # noqa: PT018 - all else is escaped
    assert "default-src &#x27;none&#x27;" in text
    assert "Ascend910B3" in text


def test_ranks_are_compared(opened: OpenedRun) -> None:
    found = opened.compare(opened.ranks[0])
    assert set(found) == {"steps", "kernels", "operators", "collectives", "memory"}
    assert set(found["kernels"]["change"]) == {0.0}


def test_both_ranks_of_a_genuine_run(genuine: Any) -> None:
    run = drynpu.open_run(genuine.ranks[0].path.parent if len(genuine.ranks) > 1 else genuine.ranks[0].path)
    assert [rank.label for rank in run.ranks] == genuine.labels
    assert run.tables["kernels"].height == genuine.rank().profile.kernels.height


def test_the_notebook_runs(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells one after the other on another run than the one whose results it shows."""
    pytest.importorskip("plotly", reason="figures are an extra")
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(
        cell["outputs"] for cell in cells if cell["cell_type"] == "code" and "import" not in "".join(cell["source"])
    )
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "demo_out").symlink_to(recorded.parent)
    monkeypatch.chdir(tmp_path / "here")
    names: dict[str, Any] = {}
    for text in code:
        exec(compile(text, "<cell>", "exec"), names)
    assert names["run"].tables["kernels"].height == 6
    assert (tmp_path / "here" / "report.html").is_file()
