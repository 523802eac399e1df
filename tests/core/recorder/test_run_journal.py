"""The list of recordings that the processes of one run share."""

from __future__ import annotations

import os
from multiprocessing import get_context
from pathlib import Path

import pytest

from drynpu.recorder import RUN_VARIABLE, RunJournal


def _note(file: Path, process: int, count: int) -> None:
    for number in range(count):
        RunJournal(file).note(Path(f"/results/{process}"), Path(f"/results/{process}/PROF_{number:06}"))


def test_lines_of_processes_do_not_mix(tmp_path: Path) -> None:
    file = tmp_path / "recordings"
    processes = [get_context("spawn").Process(target=_note, args=(file, number, 40 + number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    found = RunJournal(file).read()
    assert set(found) == {
        (Path(f"/results/{number}"), Path(f"/results/{number}/PROF_{index:06}"))
        for number in range(3)
        for index in range(40 + number)
    }


def test_a_recording_is_listed_once_and_in_order(tmp_path: Path) -> None:
    journal = RunJournal(tmp_path / "recordings")
    assert journal.read() == []
    for name in ("b", "a", "b"):
        journal.note(tmp_path / name, None)
    assert journal.read() == [(tmp_path / "b", None), (tmp_path / "a", None)]


def test_a_run_that_nobody_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN_VARIABLE, raising=False)
    assert RunJournal.from_environ(os.environ) is None
    assert RunJournal.from_environ({RUN_VARIABLE: "/x"}) == RunJournal(Path("/x"))


def test_a_list_that_cannot_be_written_is_told_and_ends_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    RunJournal(tmp_path / "gone" / "recordings").note(tmp_path / "a", None)
    assert "is not in the list of this run" in capfd.readouterr().err
