"""How results are compared with approved ones: what makes the comparison fail, and what is shown then."""

from __future__ import annotations

from pathlib import Path

import approved
import polars as pl
import pytest
from archives import pack, unpack
from describe import describe, file_lines
from subjects import all_parts


def test_a_difference_shows_its_lines_with_their_heading() -> None:
    before = ["## table: 3 rows", *map(str, range(500))]
    after = [line if line != "400" else "four hundred" for line in before]
    assert approved.difference(before, list(before)) == []
    shown = approved.difference(before, after)
    assert shown[0] == "from line 402, in ## table: 3 rows"
    assert {"-400", "+four hundred", " 399"} <= set(shown)
    assert len(shown) < 100


def test_a_shorter_and_a_missing_result_differ() -> None:
    assert "-b" in approved.difference(["a", "b"], ["a"])
    assert "+b" in approved.difference(["a"], ["a", "b"])
    assert approved.difference([], ["a"])


def test_approving_writes_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(approved, "TEXTS", tmp_path / "texts")
    assert approved.approve("run", "part", ["a\nb"]) != []
    assert approved.approve("run", "part", ["a", "b"]) == []
    assert approved.read_approved("run", "part") == ["a", "b"]


def test_every_part_is_approved_and_every_approved_text_is_of_a_part() -> None:
    files = {approved.text_file(*pair) for pair in all_parts()}
    assert files == set(approved.TEXTS.glob("*"))


def test_frames_say_types_and_every_value() -> None:
    frame = pl.DataFrame({"n": [1, None], "x": [0.1 + 0.2, 1e-20], "texts": [["a", "b"], []]})
    assert list(describe(frame, "table")) == [
        "## table: 2 rows",
        "n:Int64\tx:Float64\ttexts:List(String)",
        "1\t0.3\t['a', 'b']",
        "None\t0\t[]",
    ]


def test_archives_hold_raw_data_alone_and_no_name_of_the_machine(tmp_path: Path) -> None:
    run = tmp_path / "home" / "run"
    (run / "FRAMEWORK").mkdir(parents=True)
    (run / "FRAMEWORK" / "names").write_bytes(b"\x05" + f"{tmp_path}/train.py".encode())
    (run / "ASCEND_PROFILER_OUTPUT").mkdir()
    (run / "ASCEND_PROFILER_OUTPUT" / "op.csv").write_text("result")
    pack(run, tmp_path / "run.tar.xz", tmp_path)
    found = unpack(tmp_path / "run.tar.xz", tmp_path / "out")
    assert [path.name for path in found.rglob("*") if path.is_file()] == ["names"]
    data = (found / "FRAMEWORK" / "names").read_bytes()
    assert str(tmp_path).encode() not in data
    assert len(data) == len(f" {tmp_path}/train.py")
    assert next(iter(file_lines(found))) == "# FRAMEWORK/names"
