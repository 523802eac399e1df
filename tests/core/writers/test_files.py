"""Files and directories: whole or not at all, modes, quoting, names that are free."""

from __future__ import annotations

import csv
import io
import stat
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OutputError
from drynpu.writers import files
from drynpu.writers.files import free_stamp, make_directory, new_file, replaced_directory, write_csv, write_csv_slices

NOW = datetime(2026, 1, 31, 23, 59, 58)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_modes(tmp_path: Path) -> None:
    directory = make_directory(tmp_path / "a" / "b")
    with new_file(directory / "f") as stream:
        stream.write(b"x")
    assert (mode(directory), mode(directory / "f")) == (0o750, 0o640)
    with replaced_directory(tmp_path / "out") as fresh:
        assert mode(fresh) == 0o750
    assert mode(tmp_path / "out") == 0o750


def test_a_file_appears_only_when_complete(tmp_path: Path) -> None:
    path = tmp_path / "f"
    with new_file(path) as stream:
        stream.write(b"half")
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_failing_write_names_file_and_reason_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("old")
    with pytest.raises(OutputError, match=r"f\.csv: cannot be written: No space left") as caught, new_file(path):
        raise OSError(28, "No space left on device")
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot create the directory: Not a directory"):
        make_directory(tmp_path / "file" / "below")
    with pytest.raises(OutputError, match="cannot be written: Not a directory"), new_file(tmp_path / "file" / "x"):
        pass


def test_replacing_keeps_nothing_of_the_old_content(tmp_path: Path) -> None:
    out = tmp_path / "OUT"
    for name in ("first", "second"):
        with replaced_directory(out) as fresh:
            (fresh / name).write_text(name)
    assert [path.name for path in out.iterdir()] == ["second"]
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]


def test_failing_while_filling_keeps_the_old_content(tmp_path: Path) -> None:
    out = tmp_path / "OUT"
    with replaced_directory(out) as fresh:
        (fresh / "old").write_text("old")

    def fill_half() -> None:
        with replaced_directory(out) as fresh:
            (fresh / "new").write_text("new")
            raise OutputError("disk")

    with pytest.raises(OutputError, match="disk"):
        fill_half()
    assert [path.name for path in out.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]


def test_failing_while_swapping_puts_the_old_content_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "OUT"
    with replaced_directory(out) as fresh:
        (fresh / "old").write_text("old")
    rename = Path.rename

    def refuse_the_new(self: Path, target: Path) -> Path:
        if ".new-" in self.name:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_the_new)
    with pytest.raises(OutputError, match="OUT: cannot be replaced: Input/output error"), replaced_directory(out):
        pass
    assert [path.name for path in out.iterdir()] == ["old"]
    assert [path.name for path in tmp_path.iterdir()] == ["OUT"]


def test_the_first_free_second(tmp_path: Path) -> None:
    assert free_stamp(tmp_path / "absent", NOW) == "20260131235958"
    (tmp_path / "op_summary_20260131235958.csv").write_text("")
    (tmp_path / "op_summary_slice_1_20260131235959.csv").write_text("")
    assert free_stamp(tmp_path, NOW) == "20260201000000"


cells = st.text(st.sampled_from('ab,";\r\n\t \u00e9')) | st.text()


@given(st.lists(st.tuples(cells, cells), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_quoting_is_that_of_the_csv_module(rows: list[tuple[str, str]], line_end: str) -> None:
    expected = io.StringIO(newline="")
    writer = csv.writer(expected, lineterminator=line_end)
    writer.writerows([("A(us)", "B"), *rows])
    with TemporaryDirectory() as directory:
        table = pl.DataFrame(rows, schema={"A(us)": pl.String, "B": pl.String}, orient="row")
        found = write_csv(Path(directory) / "t.csv", table, line_end=line_end).read_bytes()
    assert list(csv.reader(io.StringIO(found.decode(), newline="")))[1:] == [list(row) for row in rows]
    # With "\n" Python leaves a lone carriage return bare, and cannot read it back.
    if line_end == "\r\n" or not any("\r" in cell for row in rows for cell in row):
        assert found == expected.getvalue().encode()


def test_shapes_keep_their_own_quotes(tmp_path: Path) -> None:
    table = pl.DataFrame({"Name": ["k"], "Input Shapes": ['"4,8;8,8"'], "Start": ["1.000\t"], "None": [""]})
    path = write_csv(tmp_path / "t.csv", table, line_end="\r\n")
    assert path.read_bytes() == b'Name,Input Shapes,Start,None\r\nk,"""4,8;8,8""",1.000\t,\r\n'


def test_long_tables_come_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "CSV_ROW_LIMIT", 2)
    table = pl.DataFrame({"n": ["0", "1", "2"]})
    paths = write_csv_slices(tmp_path, "op_summary", "20260131235958", table, line_end="\n")
    assert [(path.name, path.read_text()) for path in paths] == [
        ("op_summary_slice_0_20260131235958.csv", "n\n0\n1\n"),
        ("op_summary_slice_1_20260131235958.csv", "n\n2\n"),
    ]
    assert write_csv_slices(tmp_path, "x", "20260131235958", table.clear(), line_end="\n") == ()


def test_chunks_write_the_header_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_CSV_CHUNK_ROWS", 2)
    table = pl.DataFrame({"n": ["0", "1", "2", "3", "4"]})
    assert write_csv(tmp_path / "t.csv", table, line_end="\n").read_text() == "n\n0\n1\n2\n3\n4\n"
