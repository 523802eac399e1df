"""The list of runs says what the runs say, read one after the other in the background."""

from __future__ import annotations

import time
from pathlib import Path

from drynpu.views.runs import View, find_runs
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
