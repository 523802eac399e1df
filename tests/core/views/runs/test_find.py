"""Which runs a folder holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu.views.runs import Run, find_runs


def rank_folder(parent: Path, name: str, rank: int | None) -> Path:
    folder = parent / name
    (folder / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
    (folder / "ASCEND_PROFILER_OUTPUT" / "op_statistic.csv").write_text("Device_id,OP Type\n")
    (folder / ("profiler_info.json" if rank is None else f"profiler_info_{rank}.json")).write_text("{}")
    return folder


def test_ranks_of_one_folder_are_one_run_and_a_rank_that_comes_again_begins_the_next(tmp_path: Path) -> None:
    job = tmp_path / "job"
    for number, (stamp, rank) in enumerate([(1, 1), (2, 0), (5, 0), (6, 1)]):
        rank_folder(job, f"host_{number}_2026112214573237{stamp}_ascend_pt", rank)
    runs = find_runs(tmp_path)
    assert [run.name for run in runs] == [
        "job/host_2_20261122145732375_ascend_pt",
        "job/host_1_20261122145732372_ascend_pt",
    ]
    assert [[folder.rank for folder in run.folders] for run in runs] == [[0, 1], [0, 1]]
    assert runs[1].folders[1].path.name == "host_0_20261122145732371_ascend_pt"


def test_profiles_without_a_rank_are_runs_of_their_own_the_newest_first(tmp_path: Path) -> None:
    for stamp in (3, 9, 5):
        rank_folder(tmp_path, f"host_1_2026112214573237{stamp}_ascend_pt", None)
    assert [run.stamp[-1] for run in find_runs(tmp_path)] == ["9", "5", "3"]
    assert all(run.folders[0].rank is None for run in find_runs(tmp_path))


def test_a_result_directory_itself_and_a_single_file_are_runs(tmp_path: Path) -> None:
    folder = rank_folder(tmp_path, "host_1_20261122145732371_ascend_pt", 0)
    assert [run.name for run in find_runs(folder)] == [folder.name]
    file = folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv"
    file.write_text("Name,Type,Accelerator Core,Start Time(us),Duration(us)\nadd,Add,AI_VECTOR_CORE,1.0,2.5\n")
    assert [run.folders[0].path for run in find_runs(file)] == [file]
    assert Run.from_path(file).rank().profile.kernels["duration_ns"].to_list() == [2500]


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    base.mkdir()
    secret = rank_folder(outside, "host_1_20261122145732371_ascend_pt", 0)
    (base / "way_20261122145732371_ascend_pt").symlink_to(secret)
    (base / "folder").symlink_to(outside)
    assert find_runs(base) == []
    rank_folder(base, "host_2_20261122145732371_ascend_pt", 0)
    assert [run.folders[0].path.name for run in find_runs(base)] == ["host_2_20261122145732371_ascend_pt"]


@pytest.mark.parametrize("count", [0, 2])
def test_one_run_is_expected_and_the_message_names_what_was_found(tmp_path: Path, count: int) -> None:
    for number in range(count):
        rank_folder(tmp_path, f"host_{number}_2026112214573237{number}_ascend_pt", None)
    with pytest.raises(OutputError, match="found none" if count == 0 else r"found 2 runs \(host_1_.*, host_0_"):
        Run.from_path(tmp_path)


def test_an_unknown_rank_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    rank_folder(tmp_path, "host_2_20261122145732371_ascend_pt", 3)
    with pytest.raises(OutputError, match="no rank '7' in host_2_20261122145732371_ascend_pt: it has 3"):
        Run.from_path(tmp_path).rank("7")
