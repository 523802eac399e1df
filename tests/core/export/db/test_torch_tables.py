"""The databases of torch's profiler say what its text files of the same profile say, row by row."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import polars as pl
import pytest

from drynpu.analysis import link_operators, step_ranges
from drynpu.export import export_torch
from drynpu.options import ExportType, Switches
from drynpu.tables import Profile
from drynpu.tables.families import SCHEMAS

BEGIN_NS = 1_736_408_883_000_000_000
PID = 4321
FIRST_STRING, FIRST_MEMORY_STRING, FIRST_CONNECTION = 1 << 28, 2 << 28, 5 << 28
SEPARATOR = ";\r\n"
Record = Callable[..., Profile]
Event = dict[str, Any]


def with_framework(profile: Profile) -> Profile:
    """Give a profile what its recording cannot have yet: steps, stacks, a backward operator, frames and more."""
    ops = profile.host_ops
    row = pl.int_range(pl.len())
    stack = pl.when(row < 2).then(pl.lit("train.py(3): step;train.py(9): <module>")).when(row == 5).then(pl.lit("one"))
    ops = ops.with_columns(
        stack.otherwise(pl.lit("")).alias("call_stack"),
        pl.when(row.is_in([2, 6])).then(7).otherwise(pl.col("sequence")).alias("sequence"),
        pl.when(row == 6).then(PID).otherwise(0).cast(pl.Int64).alias("fwd_tid"),
    )
    marker = ops.head(2).with_columns(
        pl.Series("name", ["ProfilerStep#3", "ProfilerStep#4"]),
        pl.Series("start_ns", [BEGIN_NS + 500_000, BEGIN_NS + 3_950_000]),
        pl.Series("end_ns", [BEGIN_NS + 3_900_000, BEGIN_NS + 9_500_000]),
        *(pl.lit("").alias(name) for name in ("input_dtypes", "input_shapes", "call_stack")),
    )
    ops = pl.concat([ops, marker]).sort("start_ns").with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("op_id"))
    calls = pl.DataFrame(
        {
            "time_ns": [BEGIN_NS + 1000 * n for n in (600, 610, 690, 700)],
            "pid": [PID] * 4,
            "tid": [PID] * 4,
            "name": ["train.py(9): <module>", "Net######17", "Net######17", "train.py(9): <module>"],
            "tag": [0, 0, 1, 1],
        },
        schema=profile.python_calls.schema,
    )
    gc = pl.DataFrame(
        {"pid": [PID], "start_ns": [BEGIN_NS + 800_000], "end_ns": [BEGIN_NS + 802_500]}, schema=profile.gc.schema
    )
    ge = pl.DataFrame(
        {
            "device_id": [0, 0, 0],
            "time_ns": [BEGIN_NS + 2_015_000, BEGIN_NS + 2_500_000, BEGIN_NS + 3_500_000],
            "name": ["Small", "MatMul", "Small"],
            "address": [1 << 40, 1 << 41, 1 << 40],
            "size_bytes": [1024, 512, -1024],
            "total_allocated_bytes": [1024, 1536, 512],
            "total_reserved_bytes": [4096, 4096, 4096],
            "tid": [PID] * 3,
        },
        schema=profile.cann_allocations.schema,
    )
    return attrs.evolve(profile, host_ops=ops, python_calls=calls, gc=gc, cann_allocations=ge)


class Made:
    """Text and databases of one profile."""

    def __init__(self, profile: Profile, read: SimpleNamespace) -> None:
        self.profile = profile
        self.files = {path.name: path for path in export_torch(profile, (ExportType.TEXT, ExportType.DB))}
        self._read = read

    @property
    def tables(self) -> dict[str, str]:
        found: dict[str, str] = self._read.tables(self.path)
        return found

    @property
    def path(self) -> Path:
        return self.files["ascend_pytorch_profiler.db"]

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._read.rows(self.path, query)]

    def analysis(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._read.rows(self.files["analysis.db"], query)]

    def cells(self, name: str) -> list[dict[str, str]]:
        with self.files[name].open(encoding="utf-8", newline="") as stream:
            return [{key: value.rstrip("\t") for key, value in row.items()} for row in csv.DictReader(stream)]

    @property
    def trace(self) -> list[Event]:
        found: list[Event] = json.loads(self.files["trace_view.json"].read_text(encoding="utf-8"))
        return found

    def document(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.files[name].read_text(encoding="utf-8"))
        return found


@pytest.fixture
def made(record: Record, read: SimpleNamespace) -> Made:
    switches = Switches(profile_memory=True, record_shapes=True)
    return Made(with_framework(record(switches=switches)), read)


def text(column: str) -> str:
    return f"(SELECT value FROM STRING_IDS WHERE id = {column})"


def nanoseconds(us: str | float) -> int:
    whole, _, rest = str(us).partition(".")
    return int(whole) * 1000 + int(rest.ljust(3, "0")[:3])


def of_category(trace: Iterable[Event], category: str) -> list[Event]:
    return [event for event in trace if event["ph"] == "X" and event.get("cat") == category]


def test_files(made: Made) -> None:
    assert {"trace_view.json", "kernel_details.csv", "ascend_pytorch_profiler.db", "analysis.db"} <= set(made.files)
    assert list(made.files)[-1] == "analyse.done"
    assert sorted(made.path.parent.iterdir()) == sorted(made.files.values())


def test_kernels(made: Made) -> None:
    stored = made.rows(
        f"SELECT {text('k.name')}, t.startNs, t.endNs - t.startNs, t.streamId, t.taskId FROM COMPUTE_TASK_INFO k "
        "JOIN TASK t USING (globalTaskId) ORDER BY t.startNs"
    )
    shown = [
        (row["Name"], nanoseconds(row["Start Time(us)"]), nanoseconds(row["Duration(us)"]), *stream_task(row))
        for row in made.cells("kernel_details.csv")
        if row["Accelerator Core"] != "COMMUNICATION"
    ]
    assert stored == shown
    assert len(stored) == 6


def stream_task(row: dict[str, str]) -> tuple[int, int]:
    return int(row["Stream ID"]), int(row["Task ID"])


def test_calls(made: Made) -> None:
    stored = made.rows(
        f"SELECT {text('name')}, startNs, endNs, globalTid, type FROM PYTORCH_API ORDER BY rowid",
    )
    trace = made.trace
    kinds = {"python_function": 50003, "enqueue": 50002, "dequeue": 50002, "cpu_op": 50001}
    shown = [
        (
            event["name"],
            str(nanoseconds(event["ts"])),
            str(nanoseconds(event["ts"]) + nanoseconds(event["dur"])),
            (event["pid"] << 32) + event["tid"],
            kind,
        )
        for category, kind in kinds.items()
        for event in of_category(trace, category)
    ]
    assert stored == shown
    assert [row[0] for row in stored[:2]] == ["nn.Module: Net_0", "train.py(9): <module>"]
    assert {name for _, name in made.rows("SELECT id, name FROM ENUM_API_TYPE WHERE id > 50000")} == {
        *("op", "queue", "trace", "mstx"),
    }
    assert {row[0] for row in made.rows("SELECT typeof(startNs) || typeof(endNs) FROM PYTORCH_API")} == {"texttext"}


def test_arguments_of_operators(made: Made) -> None:
    stored = made.rows(
        f"SELECT sequenceNumber, fwdThreadId, {text('inputDtypes')}, {text('inputShapes')}, callchainId "
        "FROM PYTORCH_API WHERE type = 50001 ORDER BY rowid"
    )
    args = [event["args"] for event in of_category(made.trace, "cpu_op")]
    assert [row[:4] for row in stored] == [
        (one["Sequence number"], one["Fwd thread id"], one.get("Input type"), one.get("Input Dims")) for one in args
    ]
    assert [row[4] is None for row in stored] == ["Call stack" not in one for one in args]
    assert {type(row[2]) for row in stored} == {str, type(None)}
    others = made.rows("SELECT DISTINCT sequenceNumber, fwdThreadId, inputDtypes FROM PYTORCH_API WHERE type != 50001")
    assert others == [(None, None, None)]


def test_call_chains(made: Made) -> None:
    chains: dict[int, list[str]] = defaultdict(list)
    for chain, frame, depth in made.rows(f"SELECT id, {text('stack')}, stackDepth FROM PYTORCH_CALLCHAINS"):
        assert depth == len(chains[chain])
        chains[chain].append(frame)
    called = made.rows("SELECT callchainId FROM PYTORCH_API WHERE callchainId IS NOT NULL ORDER BY rowid")
    stacks = [event["args"].get("Call stack") for event in of_category(made.trace, "cpu_op")]
    assert [SEPARATOR.join(chains[chain]) for (chain,) in called] == [stack for stack in stacks if stack]
    assert len(chains) == 3


def test_connections_of_the_queue(made: Made) -> None:
    stored = made.rows(
        "SELECT c.connectionId FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId WHERE type = 50002 "
        "ORDER BY p.rowid"
    )
    trace = made.trace
    shown = [
        (event["args"]["correlation_id"] + FIRST_CONNECTION,)
        for side in ("enqueue", "dequeue")
        for event in of_category(trace, side)
    ]
    assert stored == shown
    assert len(stored) == 2 * (8 + 3), "operators and collectives"
    (ids,) = made.rows("SELECT COUNT(connectionId), COUNT(DISTINCT connectionId) FROM PYTORCH_API")
    assert ids[0] == ids[1], "every call has an id of its own"


def test_operators_lead_to_their_kernels(made: Made) -> None:
    stored = made.rows(
        "SELECT p.startNs, t.startNs FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "
        "JOIN TASK t ON t.connectionId = c.connectionId JOIN COMPUTE_TASK_INFO USING (globalTaskId) ORDER BY t.startNs"
    )
    trace = made.trace
    (hardware,) = (
        event["pid"] for event in trace if event["ph"] == "M" and event["args"].get("name") == "Ascend Hardware"
    )
    ends = {
        event["id"]: nanoseconds(event["ts"])
        for event in trace
        if (event["ph"], event.get("cat"), event["pid"]) == ("f", "async_npu", hardware)
    }
    kernels = {
        nanoseconds(row["Start Time(us)"])
        for row in made.cells("kernel_details.csv")
        if row["Accelerator Core"] != "COMMUNICATION"
    }
    arrows = [
        (str(nanoseconds(event["ts"])), ends[event["id"]])
        for event in trace
        if (event["ph"], event.get("cat")) == ("s", "async_npu") and ends.get(event["id"]) in kernels
    ]
    assert stored == sorted(arrows, key=lambda arrow: arrow[1])
    assert len(stored) == 6


def test_forward_and_backward_share_a_connection(made: Made) -> None:
    (last,) = made.profile.queue.select(pl.col("correlation_id").max()).row(0)
    shared = made.rows(
        f"SELECT {text('p.name')}, c.connectionId FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "
        "WHERE p.sequenceNumber = 7 AND c.connectionId >= 5 << 28 ORDER BY p.rowid"
    )
    assert shared == [("MatMul", FIRST_CONNECTION + last + 1)] * 2


def test_numbers_of_texts(made: Made) -> None:
    first, second = (made.rows(f"SELECT MIN({column}) FROM {table}")[0][0] for column, table in TEXTS[:2])
    assert (first, second) == (FIRST_STRING, FIRST_MEMORY_STRING)
    for column, table in TEXTS:
        (unknown,) = made.rows(
            f"SELECT COUNT(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM STRING_IDS)"
        )
        assert unknown == (0,), (table, column)
    ids = [row[0] for row in made.rows("SELECT id FROM STRING_IDS ORDER BY rowid")]
    assert len(set(ids)) == len(ids)
    assert 0 in ids


TEXTS = [
    ("name", "PYTORCH_API"),
    ("component", "MEMORY_RECORD"),
    ("inputDtypes", "PYTORCH_API"),
    ("inputShapes", "PYTORCH_API"),
    ("stack", "PYTORCH_CALLCHAINS"),
    ("name", "OP_MEMORY"),
]


def test_an_operator_without_a_name(record: Record, read: SimpleNamespace) -> None:
    profile = record()
    nameless = profile.host_ops.with_columns(
        pl.when(pl.col("op_id") == 0).then(pl.lit("")).otherwise("name").alias("name")
    )
    made = Made(attrs.evolve(profile, host_ops=nameless), read)
    assert made.rows("SELECT COUNT(*) FROM PYTORCH_API WHERE name = 4294967295") == [(1,)]
    assert made.rows("SELECT COUNT(*) FROM STRING_IDS WHERE value = ''") == [(0,)]


def test_operator_memory(made: Made) -> None:
    times = (
        "Allocation Time(us)",
        "Release Time(us)",
        "Active Release Time(us)",
        "Duration(us)",
        "Active Duration(us)",
    )
    sides = ("Allocation", "Release")
    totals = tuple(f"{side} Total {kind}(MB)" for side in sides for kind in ("Allocated", "Reserved", "Active"))
    shown = [
        (
            row["Name"].removeprefix("cann::"),
            round(float(row["Size(KB)"]) * 1024),
            *(nanoseconds(row[title]) if row[title] else None for title in times),
            *(round(float(row[title]) * 2**20) if row[title] else None for title in totals),
            int(row["Stream Ptr"]) if row["Stream Ptr"] else None,
            int(row["Device Type"].removeprefix("NPU:")),
        )
        for row in made.cells("operator_memory.csv")
    ]
    stored = made.rows("SELECT * FROM OP_MEMORY ORDER BY rowid")
    names = dict(made.rows("SELECT id, value FROM STRING_IDS"))
    assert [(names[row[0]], *row[1:]) for row in stored] == shown
    own = {row[0] for row in stored if row[0] < FIRST_STRING}
    toolkit = {row[0] for row in made.rows("SELECT operatorName FROM NPU_OP_MEM")}
    assert own
    assert own <= toolkit, "the toolkit's operators have the toolkit's numbers"


def test_memory_over_time(made: Made) -> None:
    totals = ("Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)")
    rows = [row for row in made.cells("memory_record.csv") if row["Component"] != "APP"]
    shown = [
        (
            row["Component"],
            nanoseconds(row["Timestamp(us)"]),
            *(round(float(row[title]) * 2**20) if row[title] else 0 for title in totals),
            int(row["Device Type"].removeprefix("NPU:")),
        )
        for row in rows
    ]
    stored = made.rows(
        f"SELECT {text('component')}, timestamp, totalAllocated, totalReserved, totalActive, deviceId "
        "FROM MEMORY_RECORD ORDER BY rowid"
    )
    assert stored == shown
    assert {row[0] for row in stored} == {"PTA", "GE", "PTA+GE"}


def test_steps(made: Made) -> None:
    stored = made.rows("SELECT id, startNs, endNs FROM STEP_TIME")
    steps = [event for event in of_category(made.trace, "cpu_op") if event["name"].startswith("ProfilerStep#")]
    shown = [
        (
            int(event["name"].partition("#")[2]),
            nanoseconds(event["ts"]),
            nanoseconds(event["ts"]) + nanoseconds(event["dur"]),
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


def test_step_times(made: Made) -> None:
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
    stored = made.analysis(f"SELECT {', '.join(columns.values())} FROM StepTraceTime")
    shown = made.cells("step_trace_time.csv")
    assert [row[:2] for row in stored] == [(int(row["Device_id"]), row["Step"]) for row in shown]
    for row, cells in zip(stored, shown, strict=True):
        assert row[2:] == pytest.approx([float(cells[title]) for title in list(columns)[2:]])
    assert all(row[2] > 0 for row in stored)
    assert any(row[5] > 0 for row in stored)


def test_free_and_stage_lie_between_work(made: Made) -> None:
    """Torch counts them otherwise in the database than in the csv (torch_npu_profiler.md 5.1): by the tasks alone."""
    steps = {row["Step"]: row for row in made.cells("step_trace_time.csv")}
    work = made.rows(
        "SELECT startNs, endNs FROM COMPUTE_TASK_INFO JOIN TASK USING (globalTaskId) UNION "
        "SELECT startNs, endNs FROM COMMUNICATION_OP ORDER BY startNs"
    )
    ranges = step_ranges(made.profile, link_operators(made.profile)).rows(named=True)
    taken: set[tuple[int, int]] = set()
    counted = made.analysis("SELECT step, free, stage FROM StepTraceTime")
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


def test_steps_without_a_schedule(record: Record, read: SimpleNamespace) -> None:
    made = Made(record(), read)
    assert "STEP_TIME" not in made.tables
    assert [row[0] for row in made.analysis("SELECT step FROM StepTraceTime")] == [None]
    assert {row[0] for row in made.analysis("SELECT DISTINCT step FROM CommAnalyzerTime")} == {"step"}


def test_communication(made: Made) -> None:
    document = made.document("communication.json")
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
    stored = made.analysis("SELECT * FROM CommAnalyzerTime")
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
    assert made.analysis("SELECT * FROM CommAnalyzerBandwidth") == bandwidth
    assert {row[2] for row in bandwidth} == {"HCCS", "SDMA"}


def test_the_matrix_of_links(made: Made) -> None:
    shown = [
        (
            *key.split("@"),
            *ends.split("-"),
            *(link[title] for title in ("Transport Type", "Transit Size(MB)", "Transit Time(ms)", "Bandwidth(GB/s)")),
            *(step, kind, link.get("Op Name", "")),
        )
        for step, kinds in made.document("communication_matrix.json").items()
        for kind, operators in kinds.items()
        for key, links in operators.items()
        for ends, link in links.items()
    ]
    stored = made.analysis("SELECT * FROM CommAnalyzerMatrix")
    assert stored == shown
    assert {row[-1] for row in stored if "-total" in row[0]} == {""}
    assert {row[-1] for row in stored if "-top1" in row[0]} > {""} or stored[0][-1].startswith("hcom_")


def test_collections(made: Made) -> None:
    assert made.rows("SELECT * FROM GC_RECORD") == [(BEGIN_NS + 800_000, BEGIN_NS + 802_500, PID << 32)]
    (shown,) = of_category(made.trace, "GC")
    assert nanoseconds(shown["ts"]) == BEGIN_NS + 800_000


def test_marks_that_operators_set(record: Record, read: SimpleNamespace) -> None:
    """A mark set by a thread that works on the queue belongs to the operator that put the entry in."""
    profile = record()
    ops, queue = profile.host_ops, profile.queue
    one = ops.row(3, named=True)
    put, taken = (
        queue.filter((pl.col("side") == side) & (pl.col("correlation_id") == correlation)).row(0, named=True)
        for correlation in [entry_of(queue, one)]
        for side in ("enqueue", "dequeue")
    )
    assert one["start_ns"] <= put["start_ns"]
    marks = pl.DataFrame(
        [
            {
                **dict.fromkeys(SCHEMAS["tx_marks"]),
                "mark_id": 5,
                "pid": PID,
                "tid": taken["tid"],
                "event_type": "marker",
                "message": "here",
                "start_ns": taken["start_ns"] + 1,
                "end_ns": taken["start_ns"] + 1,
            }
        ],
        schema=SCHEMAS["tx_marks"],
    )
    named = ops.with_columns(pl.when(pl.col("op_id") == 3).then(pl.lit("mstx_mark_op")).otherwise("name").alias("name"))
    made = Made(attrs.evolve(profile, host_ops=named, families={**profile.families, "tx_marks": marks}), read)
    (found,) = made.rows(
        f"SELECT {text('e.message')}, p.type, p.rowid = (SELECT MAX(rowid) FROM PYTORCH_API) FROM PYTORCH_API p JOIN "
        "CONNECTION_IDS c ON c.id = p.connectionId JOIN MSTX_EVENTS e ON e.connectionId = c.connectionId"
    )
    assert found == ("here", 50001, 1)


def entry_of(queue: pl.DataFrame, op: dict[str, Any]) -> int:
    inside = (pl.col("start_ns") >= op["start_ns"]) & (pl.col("end_ns") <= op["end_ns"])
    return int(queue.filter((pl.col("side") == "enqueue") & inside)["correlation_id"][0])
