"""Numbers that several outlets show are the same in all of them: terminal, Markdown, JSON, pages, cluster."""

from __future__ import annotations

import importlib.util
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console
from tests.core.analysis.conftest import make_profile

from drynpu.analysis import cluster_links, compare_profiles
from drynpu.analysis.hints import find_all
from drynpu.views import render_summary, summary_document
from drynpu.views.content import Fact, Facts, Hint, Table, flat
from drynpu.views.hints import hint_blocks
from drynpu.views.runs import Run, Selection, View, find_runs
from drynpu.views.theme import count_text, size_text
from drynpu_cluster import analyse_cluster, find_cluster
from drynpu_cluster.synth import SynthOptions, synthesise
from drynpu_cluster.verbs._blocks import cluster_blocks
from drynpu_pages.markdown import markdown_summary
from drynpu_pages.pages import find_page

ROOT = Path(__file__).parents[3]
EXAMPLES = shlex.quote(str(ROOT / "examples"))
OURS = ("DRYNPU_", "ASCEND_", "PROFILING_", "RANK", "MS_", "PYTHONPATH")
RECORDED = {
    "tensorflow": ("tensorflow", f"drynpu run {EXAMPLES}/tf/train_estimator.py"),
    "mindspore": ("mindspore", f"drynpu run {EXAMPLES}/mindspore/train_schedule.py"),
    "acl": ("onnx", f"drynpu run {EXAMPLES}/acl/profile_inference.py"),
    "ranks": ("torch", f"torch.distributed.run --nproc_per_node 2 {EXAMPLES}/torch/train_ddp.py"),
}
"""The package that a surface needs, and the module of Python that records a run with it."""


def python_of(kind: str) -> Path:
    return ROOT / ".venv-mindspore" / "bin" / "python" if kind == "mindspore" else Path(sys.executable)


def facts(blocks: object) -> dict[str, Fact]:
    return {fact.label: fact for block in flat(blocks) if isinstance(block, Facts) for fact in block.facts}  # type: ignore[arg-type]


def check(view: View) -> None:
    """Compare what the outlets say of one rank."""
    rank, summary = view.rank, view.rank.summary
    console = Console(record=True, width=200, file=io.StringIO(), color_system=None)
    console.print(render_summary(summary))
    terminal, markdown = console.export_text(), markdown_summary(summary, find_all(rank.profile, summary))
    document, page = summary_document(summary), facts(find_page("overview").build(view))
    for size in (summary.peak_allocated_bytes, summary.peak_reserved_bytes):
        if summary.peak_allocated_bytes is not None and summary.peak_reserved_bytes is not None:
            assert size_text(size) in terminal
            assert size_text(size) in markdown
    assert page["Peak memory"].text == size_text(document["peak_allocated_bytes"])  # type: ignore[arg-type]
    assert page["Kernels"].text == count_text(document["kernel_count"])  # type: ignore[arg-type]
    kernels = f"{summary.kernel_us / 1000:.3f} ms"
    assert not summary.kernels or (kernels in terminal and kernels in markdown)
    compared = compare_profiles((rank.profile, summary), (rank.profile, summary)).steps
    if summary.steps.height:
        mean = {name: summary.steps[f"{name}_us"].sum() / summary.steps.height for name in ("computing", "free")}
        rows = {row["name"]: row["first"] for row in compared.iter_rows(named=True)}
        assert {name: rows[name] for name in mean} == pytest.approx(mean)
    check_pages(view, page)
    hints = [block for block in hint_blocks(view.run, rank, ()) if isinstance(block, Hint)]
    assert [hint.evidence for hint in hints] == [finding.evidence for finding in find_all(rank.profile, summary)]


def check_pages(view: View, overview: dict[str, Fact]) -> None:
    """Compare what pages say of the same kernels and steps."""
    rank, summary = view.rank, view.rank.summary
    operators = {
        where: facts(find_page("operators").build(View(view.run, rank, Selection("", {"where": where}))))
        for where in ("aicore", "aicpu")
    }
    numbers = [int(each["Kernels"].text.replace(" ", "")) for each in operators.values() if each]
    assert sum(numbers) == summary.kernel_count
    every = f"of {count_text(summary.kernel_count)} in what is selected"
    assert all(each["Kernels"].detail.endswith(every) for each in operators.values() if each)
    totals = {kernel.op_type: 0.0 for kernel in summary.kernels}
    for where in operators:
        blocks = find_page("operators").build(View(view.run, rank, Selection("", {"where": where})))
        tables = [block for block in flat(blocks) if isinstance(block, Table) and block.name == "types"]
        for row in (row for table in tables for row in table.frame.iter_rows(named=True)):
            totals[row["op_type"]] = totals.get(row["op_type"], 0.0) + row["total_us"]
    if summary.level != "level0":
        assert sum(totals.values()) == pytest.approx(summary.kernel_us)
        assert all(kernel.op_type in totals for kernel in summary.kernels)
    shown = facts(find_page("steps").build(view))
    if shown and (summary.iterations or rank.step_names):
        assert shown["Steps"].text == overview["Steps"].text
        assert overview["Steps"].text != "N/A"


def test_outlets_of_what_was_recorded_here(view: View) -> None:
    check(view)


@pytest.mark.slow
@pytest.mark.parametrize("kind", RECORDED)
def test_outlets_of_every_surface(kind: str, tmp_path: Path) -> None:
    package, command = RECORDED[kind]
    if not python_of(kind).exists() or (kind != "mindspore" and importlib.util.find_spec(package) is None):
        pytest.skip(f"{package} is not installed")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    environment = {**clean, "TF_CPP_MIN_LOG_LEVEL": "2", "KINETO_LOG_LEVEL": "99", "DRYNPU_QUIET": "1"}
    line = [str(python_of(kind)), "-m", *shlex.split(command)]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = [Run.from_folder(folder) for folder in find_runs(tmp_path)]
    assert runs, done.stdout
    for run in runs:
        for label in run.labels:
            check(View(run, run.rank(label)))
    if kind == "ranks":
        (run,) = runs
        check_cluster(run)
        source = find_cluster(run.ranks[0].path.parent)
        synthesise(source, tmp_path / "synthetic", SynthOptions(ranks=4), workers=1)
        page = check_cluster(Run.from_path(tmp_path / "synthetic"))
        assert page["Moved"].text != "N/A", "the files of a synthetic rank state sums"


def test_outlets_of_genuine_runs(genuine: Run) -> None:
    for label in genuine.labels:
        check(View(genuine, genuine.rank(label)))


def test_the_cluster_is_the_same_in_the_terminal_and_on_its_page(genuine: Run) -> None:
    if len(genuine.ranks) < 2 or "samples" in genuine.name:
        pytest.skip("one rank")
    check_cluster(genuine)


def check_cluster(run: Run) -> dict[str, Fact]:
    terminal = facts(cluster_blocks(analyse_cluster(find_cluster(run.ranks[0].path.parent), None, workers=1)))
    page = facts(find_page("cluster").build(View(run, run.rank())))
    for label in ("Ranks", "Step time", "Largest difference", "Moved"):
        assert page[label].text in {terminal[label].text, "N/A"}, label
    assert page["Moved"].text == "N/A" or terminal["Moved"].detail == page["Moved"].detail
    return page


@pytest.mark.parametrize(("ranks", "links"), [((0, 1), [(0, 1)]), ((0, 7), [(0, 7)]), ((-1, -1), [(0, 1), (0, 7)])])
def test_links_to_ranks_that_nobody_recorded_do_not_count(ranks: tuple[int, int], links: list[tuple[int, int]]) -> None:
    task = {"link": "HCCS", "transport": "SDMA", "src_rank": 0, "transfer_ns": 1_000, "transfer_bytes": 500}
    one = make_profile(communication_tasks=[{**task, "dst_rank": 1}, {**task, "dst_rank": 7}], rank_id=ranks[0])
    links_between = cluster_links([one, evolve(make_profile(), rank_id=ranks[1])], between_ranks=True)
    assert links_between.select("source", "target").rows() == links
