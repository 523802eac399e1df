"""Temporary names: nobody writes through a planted link, two writers do not meet, killed writers are swept up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu._staging import Staging, staged_path, staging_prefix, sweep_staged


@pytest.fixture
def dead() -> int:
    """Return the process id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_the_name_appears_with_the_whole_content(tmp_path: Path) -> None:
    path = tmp_path / "step.csv"
    with staged_path(path) as partial:
        partial.write_text("half")
        assert not path.exists()
        assert partial.name.startswith(".step.csv.partial-")
        partial.write_text("whole")
    assert path.read_text() == "whole"
    assert [entry.name for entry in tmp_path.iterdir()] == ["step.csv"]


def test_two_writers_of_one_path_have_files_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "step.csv"
    with staged_path(path) as first, staged_path(path) as second:
        assert first != second
        first.write_text("of the first")
        second.write_text("of the second")
    assert path.read_text() == "of the first"


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "step.csv"
    path.write_text("old")

    def fail() -> None:
        with staged_path(path) as partial:
            partial.write_text("new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_planted_link_is_not_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr("secrets.token_hex", lambda _: "00112233")
    (tmp_path / (staging_prefix("step.csv", Staging.FILE) + "00112233")).symlink_to(victim)
    with pytest.raises(FileExistsError), staged_path(tmp_path / "step.csv"):
        pass
    assert victim.read_text() == "precious"


def test_only_what_dead_writers_left_is_swept(tmp_path: Path, dead: int) -> None:
    names = [f".a.csv.partial-{dead}-0a1b2c3d", f".a.csv.partial-{os.getpid()}-0a1b2c3d", ".hidden.partial", "b.csv"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / f".OUT.new-{dead}-x_y1").mkdir()
    (tmp_path / f".OUT.new-{dead}-x_y1" / "half.csv").touch()
    sweep_staged(tmp_path)
    assert {entry.name for entry in tmp_path.iterdir()} == set(names[1:])


@pytest.mark.parametrize("succeeded", [False, True])
def test_a_directory_that_was_moved_aside_comes_back_unless_it_was_replaced(
    tmp_path: Path, dead: int, succeeded: bool
) -> None:
    aside = tmp_path / f".OUT.old-{dead}-q7" / "OUT"
    aside.mkdir(parents=True)
    (aside / "table.csv").write_text("old")
    if succeeded:
        (tmp_path / "OUT").mkdir()
        (tmp_path / "OUT" / "table.csv").write_text("new")
    sweep_staged(tmp_path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["OUT"]
    assert (tmp_path / "OUT" / "table.csv").read_text() == ("new" if succeeded else "old")


def test_a_directory_that_cannot_be_listed_is_left_alone(tmp_path: Path) -> None:
    sweep_staged(tmp_path / "missing")
