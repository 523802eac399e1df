"""Which directories are ranks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu_cluster import Form, find_cluster


def test_ranks_are_found_below_other_folders(text_run: Path, tmp_path: Path) -> None:
    shutil.move(text_run, tmp_path / "a" / "b" / "texts")
    found = find_cluster(tmp_path / "a")
    assert [rank.rank for rank in found.ranks] == [0, 1, 2]
    assert found.form is Form.TEXT


def test_one_database_makes_the_run_one_of_databases(text_run: Path, db_run: Path, tmp_path: Path) -> None:
    shutil.copytree(next(db_run.glob("host_101*")), text_run / "other_1_20260102000000000_ascend_pt")
    found = find_cluster(text_run)
    assert found.form is Form.DB
    assert [(rank.rank, rank.path.name) for rank in found.ranks] == [(1, "other_1_20260102000000000_ascend_pt")]


def test_the_youngest_directory_of_a_rank_counts_and_the_other_is_named(text_run: Path) -> None:
    old = next(text_run.glob("host_101*"))
    shutil.copytree(old, text_run / "host_101_20270101000000000_ascend_pt")
    found = find_cluster(text_run)
    assert found.ranks[1].path.name == "host_101_20270101000000000_ascend_pt"
    assert old.name in found.notes[0]


def test_directories_without_a_rank_are_named(text_run: Path) -> None:
    for path in text_run.rglob("profiler_info_*.json"):
        path.unlink()
    with pytest.raises(OutputError, match=r"(?s)no ranks below .*profiler_info_<rank>.json.*host_100"):
        find_cluster(text_run)


def test_a_file_is_no_cluster(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="is no directory"):
        find_cluster(tmp_path / "file")
