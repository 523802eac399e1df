"""Small text files, whole or not there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from drynpu import OutputError
from drynpu.raw import write_document


def test_a_document_is_written_with_the_vendors_mode(tmp_path: Path) -> None:
    path = tmp_path / "profiler_info.json"
    write_document(path, '{"a": "é"}')
    assert path.read_text(encoding="utf-8") == '{"a": "é"}'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    write_document(path, "shorter")
    assert path.read_text() == "shorter"
    assert [entry.name for entry in tmp_path.iterdir()] == ["profiler_info.json"]


def test_the_umask_takes_its_part(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_document(tmp_path / "private", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600


def test_a_name_that_is_no_unicode_does_not_stop_it(tmp_path: Path) -> None:
    write_document(tmp_path / "odd", "path: \udcff")
    assert (tmp_path / "odd").read_text() == "path: \\udcff"


def test_what_fails_is_named_and_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "document"
    write_document(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match=r"Cannot write .*document: No space left on device"):
        write_document(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["document"]


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"Cannot write .*/nowhere/document: No such file or directory"):
        write_document(tmp_path / "nowhere" / "document", "x")
