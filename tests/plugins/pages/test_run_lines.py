"""The list of runs says what the runs say, read one after the other in the background."""

from __future__ import annotations

import json
import time
from pathlib import Path

from drynpu.views.content import Note
from drynpu.views.runs import Run, View, find_runs
from drynpu_pages.pages import find_page
from drynpu_pages.provenance import kind_of_run, synthetic_label, synthetic_text
from drynpu_pages.run_lines import RunLines, read_line


def test_a_line_is_what_the_first_rank_says(view: View, recorded: Path) -> None:
    (folder,) = find_runs(recorded.parent)
    line, summary = read_line(folder), view.rank.summary
    assert (line.kernels, line.chip, line.kind, line.framework) == (6, "Ascend910B3", "simulated", "PyTorch")
    assert list(line.steps_us) == summary.steps["stage_us"].to_list()
    assert line.step_us == summary.steps["stage_us"].mean()
    assert line.size_bytes == sum(path.stat().st_size for path in recorded.rglob("*") if path.is_file())


def test_lines_come_one_after_the_other_and_a_broken_run_hides_no_other(recorded: Path) -> None:
    broken = recorded.parent / "bad_ascend_pt"
    (broken / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (broken / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").write_bytes(b"\xff\xfe")
    folders = find_runs(recorded.parent)
    lines = RunLines()
    assert lines.lines_of(folders) == [None] * len(folders)
    end = time.monotonic() + 60
    while None in lines.lines_of(folders) and time.monotonic() < end:
        time.sleep(0.01)
    known = dict(zip([folder.name for folder in folders], lines.lines_of(folders), strict=True))
    assert known[recorded.name] == read_line(next(each for each in folders if each.name == recorded.name))
    assert all(line is not None and (line.note or line.kernels) for line in known.values())


def test_what_synth_made_is_called_synthetic(recorded: Path, view: View) -> None:
    """Its label stands in the metadata of every rank (`docs/clusters.md`)."""
    assert kind_of_run(view.rank) == "simulated"
    file = recorded / "profiler_metadata.json"
    facts = json.loads(file.read_text())
    label = {"synthetic": True, "made_from": ["one_ascend_pt", "two_ascend_pt"], "ranks": 64}
    slow = {"slow_rank": 7, "slow_factor": 1.5, "slow_link": [3, 4], "link_factor": 4.0}
    file.write_text(json.dumps({"drynpu": {**facts["drynpu"], "synthetic": {**label, **slow}}}))
    (folder,) = find_runs(recorded.parent)
    assert read_line(folder).kind == "synthetic"
    rank = Run.from_folder(folder).rank()
    text = (
        "Synthetic: drynpu synth made this rank, one of 64, from one_ascend_pt, two_ascend_pt. "
        "There, rank 7 is 1.5 times as slow and the link 3-4 is 4.0 times as slow."
    )
    blocks = find_page("overview").build(View(view.run, rank))
    assert text in [block.text for block in blocks if isinstance(block, Note)]
    assert synthetic_text(label).endswith("one of 64, from one_ascend_pt, two_ascend_pt.")


def test_a_profile_of_a_device_is_genuine(genuine: Run) -> None:
    assert kind_of_run(genuine.rank()) == "genuine"
    assert synthetic_label(genuine.rank()) is None
