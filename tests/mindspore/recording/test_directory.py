"""The log of a run directory."""

from __future__ import annotations

import os

import pytest

from drynpu import OutputError
from drynpu_mindspore.recording._directory import run_log


def fail(path, text):
    with run_log(path) as log:
        log.info("begun")
        raise OutputError(text)


def test_a_log_on_a_full_disk_prints_nothing_and_hides_no_error(tmp_path, capsys):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / f"profiler_20260101000000_{os.getpid()}.log").symlink_to("/dev/full")
    with pytest.raises(OutputError, match="the disk is full"):
        fail(tmp_path, "the disk is full")
    assert capsys.readouterr().err == ""


def test_what_raises_is_in_the_log(tmp_path):
    with pytest.raises(OutputError):
        fail(tmp_path, "no place")
    (file,) = (tmp_path / "logs").iterdir()
    assert [line.partition("] ")[2].split()[0] for line in file.read_text().splitlines()] == ["[INFO]", "[ERROR]"]
    assert file.read_text().endswith("OutputError: no place\n")
