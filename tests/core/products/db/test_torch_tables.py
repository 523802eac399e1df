"""PYTORCH_API, its connections and call chains, and memory say what the text files say, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import attrs
import polars as pl
from tests.by_hand import BEGIN_NS, PID

from drynpu.deliverables.registry import GROUPS, schemas
from drynpu.tables import Profile

FIRST_STRING, FIRST_MEMORY_STRING, FIRST_CONNECTION = 1 << 28, 2 << 28, 5 << 28
SEPARATOR = ";\r\n"
Record = Callable[..., Profile]
Files = Callable[[Profile], Any]
Event = dict[str, Any]


def text(column: str) -> str:
    return f"(SELECT value FROM STRING_IDS WHERE id = {column})"


def test_files(torch_made: Any) -> None:
    assert {"trace_view.json", "kernel_details.csv", "ascend_pytorch_profiler.db", "analysis.db"} <= set(
        torch_made.files
    )
    assert list(torch_made.files)[-1] == "analyse.done"
    assert sorted(torch_made.path.parent.iterdir()) == sorted(torch_made.files.values())


def test_kernels(torch_made: Any) -> None:
    stored = torch_made.rows(
        f"SELECT {text('k.name')}, t.startNs, t.endNs - t.startNs, t.streamId, t.taskId FROM COMPUTE_TASK_INFO k "
        "JOIN TASK t USING (globalTaskId) ORDER BY t.startNs"
    )
    shown = [
        (
            row["Name"],
            torch_made.nanoseconds(row["Start Time(us)"]),
            torch_made.nanoseconds(row["Duration(us)"]),
            *stream_task(row),
        )
        for row in torch_made.cells("kernel_details.csv")
        if row["Accelerator Core"] != "COMMUNICATION"
    ]
    assert stored == shown
    assert len(stored) == 6


def stream_task(row: dict[str, str]) -> tuple[int, int]:
    return int(row["Stream ID"]), int(row["Task ID"])


def test_calls(torch_made: Any) -> None:
    stored = torch_made.rows(
        f"SELECT {text('name')}, startNs, endNs, globalTid, type FROM PYTORCH_API ORDER BY rowid",
    )
    kinds = {"python_function": 50003, "enqueue": 50002, "dequeue": 50002, "cpu_op": 50001}
    shown = [
        (
            event["name"],
            str(torch_made.nanoseconds(event["ts"])),
            str(torch_made.nanoseconds(event["ts"]) + torch_made.nanoseconds(event["dur"])),
            (event["pid"] << 32) + event["tid"],
            kind,
        )
        for category, kind in kinds.items()
        for event in torch_made.of_category(category)
    ]
    assert stored == shown
    assert [row[0] for row in stored[:2]] == ["nn.Module: Net_0", "train.py(9): <module>"]
    assert {name for _, name in torch_made.rows("SELECT id, name FROM ENUM_API_TYPE WHERE id > 50000")} == {
        *("op", "queue", "trace", "mstx"),
    }
    assert {row[0] for row in torch_made.rows("SELECT typeof(startNs) || typeof(endNs) FROM PYTORCH_API")} == {
        "texttext"
    }


def test_arguments_of_operators(torch_made: Any) -> None:
    stored = torch_made.rows(
        f"SELECT sequenceNumber, fwdThreadId, {text('inputDtypes')}, {text('inputShapes')}, callchainId "
        "FROM PYTORCH_API WHERE type = 50001 ORDER BY rowid"
    )
    args = [event["args"] for event in torch_made.of_category("cpu_op")]
    assert [row[:4] for row in stored] == [
        (one["Sequence number"], one["Fwd thread id"], one.get("Input type"), one.get("Input Dims")) for one in args
    ]
    assert [row[4] is None for row in stored] == ["Call stack" not in one for one in args]
    assert {type(row[2]) for row in stored} == {str, type(None)}
    others = torch_made.rows(
        "SELECT DISTINCT sequenceNumber, fwdThreadId, inputDtypes FROM PYTORCH_API WHERE type != 50001"
    )
    assert others == [(None, None, None)]


def test_call_chains(torch_made: Any) -> None:
    chains: dict[int, list[str]] = defaultdict(list)
    for chain, frame, depth in torch_made.rows(f"SELECT id, {text('stack')}, stackDepth FROM PYTORCH_CALLCHAINS"):
        assert depth == len(chains[chain])
        chains[chain].append(frame)
    called = torch_made.rows("SELECT callchainId FROM PYTORCH_API WHERE callchainId IS NOT NULL ORDER BY rowid")
    stacks = [event["args"].get("Call stack") for event in torch_made.of_category("cpu_op")]
    assert [SEPARATOR.join(chains[chain]) for (chain,) in called] == [stack for stack in stacks if stack]
    assert len(chains) == 3


def test_connections_of_the_queue(torch_made: Any) -> None:
    stored = torch_made.rows(
        "SELECT c.connectionId FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId WHERE type = 50002 "
        "ORDER BY p.rowid"
    )
    shown = [
        (event["args"]["correlation_id"] + FIRST_CONNECTION,)
        for side in ("enqueue", "dequeue")
        for event in torch_made.of_category(side)
    ]
    assert stored == shown
    assert len(stored) == 2 * (8 + 3), "operators and collectives"
    (ids,) = torch_made.rows("SELECT COUNT(connectionId), COUNT(DISTINCT connectionId) FROM PYTORCH_API")
    assert ids[0] == ids[1], "every call has an id of its own"


def test_operators_lead_to_their_kernels(torch_made: Any) -> None:
    stored = torch_made.rows(
        "SELECT p.startNs, t.startNs FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "
        "JOIN TASK t ON t.connectionId = c.connectionId JOIN COMPUTE_TASK_INFO USING (globalTaskId) ORDER BY t.startNs"
    )
    trace = torch_made.trace
    (hardware,) = (
        event["pid"] for event in trace if event["ph"] == "M" and event["args"].get("name") == "Ascend Hardware"
    )
    ends = {
        event["id"]: torch_made.nanoseconds(event["ts"])
        for event in trace
        if (event["ph"], event.get("cat"), event["pid"]) == ("f", "async_npu", hardware)
    }
    kernels = {
        torch_made.nanoseconds(row["Start Time(us)"])
        for row in torch_made.cells("kernel_details.csv")
        if row["Accelerator Core"] != "COMMUNICATION"
    }
    arrows = [
        (str(torch_made.nanoseconds(event["ts"])), ends[event["id"]])
        for event in trace
        if (event["ph"], event.get("cat")) == ("s", "async_npu") and ends.get(event["id"]) in kernels
    ]
    assert stored == sorted(arrows, key=lambda arrow: arrow[1])
    assert len(stored) == 6


def test_operators_lead_to_launches_of_what_is_no_kernel(record: Record, torch_files: Files) -> None:
    profile = record()
    files = torch_files(attrs.evolve(profile, kernels=profile.kernels.clear()))
    query = (
        "SELECT count(DISTINCT c.connectionId) FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "
        "JOIN CANN_API a ON a.connectionId = c.connectionId WHERE p.type = 50001"
    )
    assert files.rows(query) == torch_files(profile).rows(query) != [(0,)]


def test_forward_and_backward_share_a_connection(torch_made: Any) -> None:
    (last,) = torch_made.profile.queue.select(pl.col("correlation_id").max()).row(0)
    shared = torch_made.rows(
        f"SELECT {text('p.name')}, c.connectionId FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "
        "WHERE p.sequenceNumber = 7 AND c.connectionId >= 5 << 28 ORDER BY p.rowid"
    )
    assert shared == [("MatMul", FIRST_CONNECTION + last + 1)] * 2


def test_connections_count_dequeues_before_enqueues(torch_made: Any) -> None:
    entries = (
        f"SELECT p.connectionId FROM PYTORCH_API p WHERE {text('p.name')} LIKE '{{}}%' AND type = 50002 ORDER BY rowid"
    )
    dequeued, enqueued = (
        [number for (number,) in torch_made.rows(entries.format(side))] for side in ("Dequeue", "Enqueue")
    )
    assert dequeued == list(range(len(dequeued)))
    assert enqueued == list(range(len(dequeued), len(dequeued) + len(enqueued)))
    assert [number for (number,) in torch_made.rows("SELECT id FROM CONNECTION_IDS ORDER BY rowid")][
        : len(dequeued)
    ] == dequeued


def test_workspace_has_a_number_though_no_row_has_it(torch_made: Any) -> None:
    texts = torch_made.rows(f"SELECT value FROM STRING_IDS WHERE id >= {FIRST_MEMORY_STRING} ORDER BY id LIMIT 4")
    assert [value for (value,) in texts] == ["GE", "PTA", "WORKSPACE", "PTA+GE"]


def test_numbers_of_texts(torch_made: Any) -> None:
    first, second = (torch_made.rows(f"SELECT MIN({column}) FROM {table}")[0][0] for column, table in TEXTS[:2])
    assert (first, second) == (FIRST_STRING, FIRST_MEMORY_STRING)
    for column, table in TEXTS:
        (unknown,) = torch_made.rows(
            f"SELECT COUNT(*) FROM {table} WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM STRING_IDS)"
        )
        assert unknown == (0,), (table, column)
    ids = [row[0] for row in torch_made.rows("SELECT id FROM STRING_IDS ORDER BY rowid")]
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


def test_an_operator_without_a_name(record: Record, torch_files: Files) -> None:
    profile = record()
    nameless = profile.host_ops.with_columns(
        pl.when(pl.col("op_id") == 0).then(pl.lit("")).otherwise("name").alias("name")
    )
    files = torch_files(attrs.evolve(profile, host_ops=nameless))
    assert files.rows("SELECT COUNT(*) FROM PYTORCH_API WHERE name = 4294967295") == [(1,)]
    empty = "SELECT COUNT(*) FROM PYTORCH_API WHERE name IN (SELECT id FROM STRING_IDS WHERE value = '')"
    assert files.rows(empty) == [(0,)]


def test_operator_memory(torch_made: Any) -> None:
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
            *(torch_made.nanoseconds(row[title]) if row[title] else None for title in times),
            *(round(float(row[title]) * 2**20) if row[title] else None for title in totals),
            int(row["Stream Ptr"]) if row["Stream Ptr"] else None,
            int(row["Device Type"].removeprefix("NPU:")),
        )
        for row in torch_made.cells("operator_memory.csv")
    ]
    stored = torch_made.rows("SELECT * FROM OP_MEMORY ORDER BY rowid")
    names = dict(torch_made.rows("SELECT id, value FROM STRING_IDS"))
    assert [(names[row[0]], *row[1:]) for row in stored] == shown
    own = {row[0] for row in stored if row[0] < FIRST_STRING}
    toolkit = {row[0] for row in torch_made.rows("SELECT operatorName FROM NPU_OP_MEM")}
    assert own
    assert own <= toolkit, "the toolkit's operators have the toolkit's numbers"


def test_memory_over_time(torch_made: Any) -> None:
    totals = ("Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)")
    rows = [row for row in torch_made.cells("memory_record.csv") if row["Component"] != "APP"]
    shown = [
        (
            row["Component"],
            torch_made.nanoseconds(row["Timestamp(us)"]),
            *(round(float(row[title]) * 2**20) if row[title] else 0 for title in totals),
            int(row["Device Type"].removeprefix("NPU:")),
        )
        for row in rows
    ]
    stored = torch_made.rows(
        f"SELECT {text('component')}, timestamp, totalAllocated, totalReserved, totalActive, deviceId "
        "FROM MEMORY_RECORD ORDER BY rowid"
    )
    assert stored == shown
    assert {row[0] for row in stored} == {"PTA", "GE", "PTA+GE"}


def test_collections(torch_made: Any) -> None:
    assert torch_made.rows("SELECT * FROM GC_RECORD") == [(BEGIN_NS + 800_000, BEGIN_NS + 802_500, PID << 32)]
    (shown,) = torch_made.of_category("GC")
    assert torch_made.nanoseconds(shown["ts"]) == BEGIN_NS + 800_000


def test_marks_that_operators_set(record: Record, torch_files: Files) -> None:
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
                **dict.fromkeys(schemas(GROUPS)["marks"]),
                "mark_id": 5,
                "pid": PID,
                "tid": taken["tid"],
                "event_type": "marker",
                "message": "here",
                "start_ns": taken["start_ns"] + 1,
                "end_ns": taken["start_ns"] + 1,
            }
        ],
        schema=schemas(GROUPS)["marks"],
    )
    named = ops.with_columns(pl.when(pl.col("op_id") == 3).then(pl.lit("mstx_mark_op")).otherwise("name").alias("name"))
    files = torch_files(attrs.evolve(profile, host_ops=named, group_tables={**profile.group_tables, "marks": marks}))
    (found,) = files.rows(
        f"SELECT {text('e.message')}, p.type, p.rowid = (SELECT MAX(rowid) FROM PYTORCH_API) FROM PYTORCH_API p JOIN "
        "CONNECTION_IDS c ON c.id = p.connectionId JOIN MSTX_EVENTS e ON e.connectionId = c.connectionId"
    )
    assert found == ("here", 50001, 1)


def entry_of(queue: pl.DataFrame, op: dict[str, Any]) -> int:
    inside = (pl.col("start_ns") >= op["start_ns"]) & (pl.col("end_ns") <= op["end_ns"])
    return int(queue.filter((pl.col("side") == "enqueue") & inside)["correlation_id"][0])
