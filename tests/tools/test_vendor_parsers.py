"""The comparison with the vendor's parsers: what it lets pass, what it reports, and what it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import comparison
import parsers
import pytest
import reasons
import recordings

SLICE: dict[str, Any] = {"name": "MatMul", "pid": 7, "tid": 2, "ts": "1.000", "dur": 2.5, "ph": "X"}
LAYER: dict[str, Any] = {"name": "process_name", "pid": 7, "ph": "M", "args": {"name": "Ascend Hardware"}}


@pytest.mark.parametrize(
    ("ours", "theirs", "column", "equal"),
    [
        ("AI_CORE", "AI_CORE", "", True),
        ("AI_CORE", "AI_CPU", "", False),
        ("7.633", "7.63", "aicore_time(us)", True),
        ("7.64", "7.63", "aicore_time(us)", False),
        ("0.000", "N/A", "Data Aug Bound(us)", True),
        ("N/A", "", "Reduce Start(us)", True),
        ("N/A", "1.5", "Reduce Start(us)", False),
        ("34.000", "34.200", "timestamp(us)", True),
        ("34.000", "34.200", "Task Start Time(us)", False),
        ("100000", "100001", "Read(MB/s)", True),
        ("100000", "100010", "Read(MB/s)", False),
    ],
)
def test_cells(ours: str, theirs: str, column: str, equal: bool) -> None:
    assert comparison.same(ours, theirs, column) is equal


def test_rows_are_counted_and_differences_named() -> None:
    ours = [{"API Name": "b", "Count": "1", "Device_id": "host"}, {"API Name": "a", "Count": "2", "Device_id": "host"}]
    theirs = [{"API Name": "a", "Count": "2", "Device_id": "0"}, {"API Name": "b", "Count": "9", "Device_id": "0"}]
    found = comparison.compare_rows("api_statistic", ours, theirs)
    assert (found.rows, found.equal, found.same) == (2, 1, False)
    assert found.differences == ("Count, 1 rows: row 1: '1' and '9'",)
    more = comparison.compare_rows("task_time", ours, [*ours, ours[0]])
    assert more.differences == ("2 rows of ours, 3 of theirs",)
    columns = comparison.compare_rows("task_time", [{"a": "1"}], [{"a": "1", "b": "2"}])
    assert columns.differences == ("columns of theirs alone: b",)


def test_slices_are_a_multiset_by_layer() -> None:
    event = {**SLICE, "args": {"Task Type": "AI_CORE", "Task Id": 1, "connection_id": 5}}
    arrow = {"name": "HostToDevice1", "pid": 7, "tid": 2, "ts": "1.000", "ph": "f", "cat": "HostToDevice", "id": "1"}
    ours = comparison.slices([LAYER, event, arrow])
    same = comparison.slices([LAYER, {**event, "args": {**event["args"], "connection_id": 9}}, arrow, arrow])
    assert comparison.compare_slices("msprof.json", ours, same).same
    longer = comparison.slices([LAYER, {**event, "dur": 2.6}, arrow])
    found = comparison.compare_slices("msprof.json", ours, longer)
    assert (found.rows, found.equal, len(found.differences)) == (2, 1, 2)
    copy = {**SLICE, "args": {"Task Type": "MEMCPY_ASYNC", "size(B)": 8, "operation": "host to device"}}
    plain = {**SLICE, "args": {"Task Type": "MEMCPY_ASYNC"}}
    assert comparison.slices([LAYER, copy, arrow]) == comparison.slices([LAYER, plain])


def test_a_file_that_only_one_side_has_is_told(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    (ours / "task_time_20260101000000.csv").write_text("a,b\n1,2\n")
    (found,) = comparison.compare(ours, theirs)
    assert (found.file, found.rows, found.equal, found.differences) == ("task_time", 1, 0, ("only ours",))


def test_error_lines_are_told_once_and_without_their_place() -> None:
    text = (
        "2026-11-22 15:00:17 [ERROR] [MSVP] [88] stars_log_parser.py: 80 chunks\n"
        "2026-11-22 15:00:18 [ERROR] [MSVP] [99] stars_log_parser.py: 80 chunks\n"
        "2026-11-22 15:00:18 [WARNING] [MSVP] [99] nothing\n"
    )
    assert parsers.error_lines(text) == ("stars_log_parser.py: 80 chunks",)


def test_cases_are_every_group_that_a_chip_has() -> None:
    short = list(recordings.all_cases(["Ascend310P3", "Ascend910B2"], ["core"], every=False))
    assert [case.name for case in short] == [
        "Ascend310P3-core-l1-PipeUtilization",
        "Ascend910B2-core-l1-PipeUtilization",
    ]
    every = list(recordings.all_cases(["Ascend910B2"], ["core", "torch"], every=True))
    assert len(every) == 2 * (1 + 2 * 8)
    assert {case.metrics for case in every if case.level == "l0"} == {""}


def test_a_page_tells_why_rows_differ() -> None:
    equal = comparison.Result("task_time", 42, 42)
    known = comparison.Result("npu_mem", 2, 0, ("2 rows of ours, 1 of theirs",))
    unknown = comparison.Result("hccs", 3, 2, ("txThroughput(MB/s), 1 rows: row 0: '1' and '2'",))
    rows = [("first", (), (equal, equal)), ("second", ("Invalid metric x",), (equal, known, unknown))]
    assert reasons.reasons_of((), (equal, known, unknown)) == (
        ["begin"],
        ["hccs: txThroughput(MB/s), 1 rows: row 0: '1' and '2'"],
    )
    lines = reasons.page_lines(rows)
    assert lines[2] == "| first | 1 | 84 of 84 |  |"
    assert lines[3] == "| second | 3 | 44 of 47 | npu_mem (0 of 2), hccs (2 of 3); begin, refused; 1 without a reason |"
    assert [line.partition(":")[0] for line in lines[5:]] == ["- *begin*", "- *refused*"]


@pytest.mark.parametrize("name", sorted(reasons.REASONS))
def test_every_reason_has_a_sign(name: str) -> None:
    assert name in {of_sign for _, of_sign in reasons._SIGNS}
