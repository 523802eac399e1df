"""Steps and communication in torch's databases equal the text files of the same profile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.by_hand import BEGIN_NS

from drynpu.analysis import step_ranges
from drynpu.tables import Profile

FIRST_STRING, FIRST_MEMORY_STRING, FIRST_CONNECTION = 1 << 28, 2 << 28, 5 << 28
SEPARATOR = ";\r\n"
Record = Callable[..., Profile]
Files = Callable[[Profile], Any]
Event = dict[str, Any]


def test_steps(torch_made: Any) -> None:
    stored = torch_made.rows("SELECT id, startNs, endNs FROM STEP_TIME")
    steps = [event for event in torch_made.of_category("cpu_op") if event["name"].startswith("ProfilerStep#")]
    shown = [
        (
            int(event["name"].partition("#")[2]),
            torch_made.nanoseconds(event["ts"]),
            torch_made.nanoseconds(event["ts"]) + torch_made.nanoseconds(event["dur"]),
        )
        for event in steps
    ]
    assert (
        stored
        == shown
        == [
            (3, BEGIN_NS + 500_000, BEGIN_NS + 3_900_000),
            (4, BEGIN_NS + 3_950_000, BEGIN_NS + 9_500_000),
        ]
    )


def test_step_times(torch_made: Any) -> None:
    columns = {
        "Device_id": "deviceId",
        "Step": "step",
        "Computing": "computing",
        "Communication(Not Overlapped)": "communication_not_overlapped",
        "Overlapped": "overlapped",
        "Communication": "communication",
        "Bubble": "bubble",
        "Communication(Not Overlapped and Exclude Receive)": "communication_not_overlapped_and_exclude_receive",
        "Preparing": "preparing",
    }
    stored = torch_made.analysis(f"SELECT {', '.join(columns.values())} FROM StepTraceTime")
    shown = torch_made.cells("step_trace_time.csv")
    assert [row[:2] for row in stored] == [(int(row["Device_id"]), row["Step"]) for row in shown]
    for row, cells in zip(stored, shown, strict=True):
        assert row[2:] == pytest.approx([float(cells[title]) for title in list(columns)[2:]])
    assert all(row[2] > 0 for row in stored)
    assert any(row[5] > 0 for row in stored)


def test_free_and_stage_lie_between_work(torch_made: Any) -> None:
    """Torch counts them otherwise in the database than in the csv (torch_npu_profiler.md 5.1): by the tasks alone."""
    steps = {row["Step"]: row for row in torch_made.cells("step_trace_time.csv")}
    work = torch_made.rows(
        "SELECT startNs, endNs FROM COMPUTE_TASK_INFO JOIN TASK USING (globalTaskId) UNION "
        "SELECT startNs, endNs FROM COMMUNICATION_OP ORDER BY startNs"
    )
    ranges = step_ranges(torch_made.profile).rows(named=True)
    taken: set[tuple[int, int]] = set()
    counted = torch_made.analysis("SELECT step, free, stage FROM StepTraceTime")
    for (step, free, stage), bounds in zip(counted, ranges, strict=True):
        low, high = bounds["device_start_ns"], bounds["device_end_ns"]
        own = [task for task in work if low <= task[0] < high and task not in taken]
        taken.update(own)
        gaps, reached = 0, own[0][1]
        for start, end in own[1:]:
            gaps += max(start - reached, 0)
            reached = max(reached, end)
        assert free * 1000 == pytest.approx(gaps)
        assert stage * 1000 == pytest.approx(reached - own[0][0])
        assert free <= float(steps[step]["Free"])
    assert counted[0][1] < float(steps["3"]["Free"]), "the copy before the first kernel"


def test_steps_without_a_schedule(record: Record, torch_files: Files) -> None:
    made = torch_files(record())
    assert "STEP_TIME" not in made.tables
    assert [row[0] for row in made.analysis("SELECT step FROM StepTraceTime")] == [None]
    assert {row[0] for row in made.analysis("SELECT DISTINCT step FROM CommAnalyzerTime")} == {"step"}


def test_communication(torch_made: Any) -> None:
    document = torch_made.document("communication.json")
    entries = [
        (step, kind, *key.split("@"), entry)
        for step, kinds in document.items()
        for kind, operators in kinds.items()
        for key, entry in operators.items()
        if key != "Total Op Info"
    ]
    times = [
        (name, group, *list(entry["Communication Time Info"].values())[:6], step, kind)
        for step, kind, name, group, entry in entries
    ]
    stored = torch_made.analysis("SELECT * FROM CommAnalyzerTime")
    assert stored == times
    assert {row[-1] for row in stored} == {"collective"}
    assert {row[-2] for row in stored} == {"step3", "step4"}
    bandwidth = [
        (
            *(name, group, transport),
            *(
                info[title]
                for title in ("Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)", "Large Packet Ratio")
            ),
            *(float(size), count, total),
            *(step, kind),
        )
        for step, kind, name, group, entry in entries
        for transport, info in entry["Communication Bandwidth Info"].items()
        for size, (count, total) in (info["Size Distribution"] or {"0": (0, 0)}).items()
        if info["Transit Size(MB)"]
    ]
    assert torch_made.analysis("SELECT * FROM CommAnalyzerBandwidth") == bandwidth
    assert {row[2] for row in bandwidth} == {"HCCS", "SDMA"}


def test_the_matrix_of_links(torch_made: Any) -> None:
    shown = [
        (
            *key.split("@"),
            *ends.split("-"),
            *(link[title] for title in ("Transport Type", "Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")),
            *(step, kind, link.get("Op Name", "")),
        )
        for step, kinds in torch_made.document("communication_matrix.json").items()
        for kind, operators in kinds.items()
        for key, links in operators.items()
        for ends, link in links.items()
    ]
    stored = torch_made.analysis("SELECT * FROM CommAnalyzerMatrix")
    assert stored == shown
    assert {row[-1] for row in stored if "-total" in row[0]} == {""}
    assert {row[-1] for row in stored if "-top1" in row[0]} > {""} or stored[0][-1].startswith("hcom_")
