"""User marks from a recording to msprof_tx and the timeline, read back by readers of their own."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.by_hand import BEGIN_NS, PID, call_table, setup

from drynpu.deliverables.marks.records import _segments
from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import Clock, Filters, Level, ProfilingRequest, Switches
from drynpu.products import export_msprof, load_profile
from drynpu.recorder import write_recording
from drynpu.simulate import Collective, Destination, Mark, MarkKind, Recording
from drynpu.tables import Profile

NOW = datetime(2026, 1, 31, 23, 59, 58)
TENSOR = TensorDesc((1 << 24,), "FLOAT")
HEADER = (
    "Device_id,pid,tid,category,event_type,payload_type,payload_value,Start_time(us),End_time(us),message_type,"
    "message,domain,Device Start_time(us),Device End_time(us)"
)


def plan(signature: Signature) -> KernelPlan:
    spec = KernelSpec(
        name="Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(TENSOR, TENSOR),
        outputs=(TENSOR,),
        vector_ops=TENSOR.elements,
        bytes_read=2 * TENSOR.size_bytes,
        bytes_written=TENSOR.size_bytes,
    )
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


def operators(count: int = 6) -> Operators:
    start = BEGIN_NS + 1_000_000 + np.arange(count) * 100_000
    return call_table(("aten::add",), 0, start, start + 50_000, (Signature("aten::add", (TENSOR, TENSOR)),))


def at(us: float) -> int:
    return BEGIN_NS + 1_000_000 + round(us * 1000)


def mark(message: str, start: float, end: float | None = None, kind: MarkKind = MarkKind.POINT, **more: Any) -> Mark:
    values: dict[str, Any] = {"thread": PID} | more
    return Mark(kind=kind, message=message, start_ns=at(start), end_ns=at(start if end is None else end), **values)


def record(
    directory: Path,
    marks: list[Mark],
    *,
    tx: bool = True,
    filters: Filters | None = None,
    chip: str = "Ascend910B2",
    level: Level = Level.L1,
    clock: Clock = Clock.WALL,
    **parts: Any,
) -> Profile:
    found = {"operators": operators(), "collectives": ()} | parts
    write_recording(
        Recording(
            begin_ns=BEGIN_NS,
            end_ns=BEGIN_NS + 20_000_000,
            marks=tuple(marks),
            **found,
        ),
        Destination(directory=directory, framework="torch", pid=PID, device_id=0),
        setup(
            plan,
            ProfilingRequest(level=level, switches=Switches(tx=tx), filters=Filters() if filters is None else filters),
            chip=chip,
            clock=clock,
        ),
    )
    return load_profile(next(directory.glob("PROF_*")))


Files = dict[str, Path]


@pytest.fixture
def exported(tmp_path: Path) -> Callable[..., Files]:
    def make(marks: list[Mark], **more: Any) -> Files:
        paths = export_msprof(record(tmp_path, marks, **more), now=NOW)
        return {path.name.replace("_20260131235958", ""): path for path in paths}

    return make


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


MARKS = [
    mark("plain", 10, category=3, payload_type=1, payload=2**63, message_type=2),
    mark("outer", 20, 400, MarkKind.PUSH_POP),
    mark("inner", 30, 40, MarkKind.PUSH_POP),
    mark("crossing", 35, 500, MarkKind.START_END, end_thread=77),
    mark("own thread", 36, 37, MarkKind.PUSH_POP, thread=99),
    mark("in a domain", 50, 60, MarkKind.START_END, domain="data"),
    mark('on "stream", 2', 120, 420, MarkKind.START_END, stream=2),
    mark("dot", 130, kind=MarkKind.EXTENDED_POINT, stream=2, domain="data"),
]


def test_the_table_has_a_row_per_mark(exported: Callable[..., Files]) -> None:
    path = exported(MARKS)["msprof_tx.csv"]
    assert path.read_text().splitlines()[0] == HEADER
    rows = {row["message"]: row for row in rows_of(path)}
    assert list(rows) == [of.message for of in MARKS]
    for of in MARKS:
        row = rows[of.message]
        assert row["pid"] == str(PID)
        assert row["tid"] == str(of.thread)
        assert row["event_type"] == ("marker", "push/pop", "start/end", "marker_ex")[of.kind.value]
        # Between operators the measured host timeline stands as it was, 1 ns aside.
        assert row["Start_time(us)"].endswith("\t")
        assert float(row["Start_time(us)"]) == pytest.approx(of.start_ns / 1000, abs=0.3)
        assert float(row["End_time(us)"]) == pytest.approx(of.end_ns / 1000, abs=0.3)
    plain = rows["plain"]
    cells = ("category", "payload_type", "payload_value", "message_type", "domain", "Device_id")
    assert [plain[name] for name in cells] == ["3", "1", str(2**63), "2", "N/A", "host"]
    extended = rows["in a domain"]
    assert [extended[name] for name in cells] == ["N/A", "N/A", "N/A", "N/A", "data", "host"]
    assert extended["Device Start_time(us)"] == "N/A"
    assert rows["dot"]["Device_id"] == "0"
    assert rows["dot"]["Device Start_time(us)"] == rows["dot"]["Device End_time(us)"] != "N/A"


def test_the_timeline_shows_both_sides_and_an_arrow_for_each(exported: Callable[..., Files]) -> None:
    files = exported(MARKS)
    own = json.loads(files["msprof_tx.json"].read_text())
    everything = [json.dumps(event) for event in json.loads(files["msprof.json"].read_text())]
    assert all(json.dumps(event) in everything for event in own)
    host_pid, device_pid = (PID << 10) | (6 << 5) | 31, (PID << 10) | (14 << 5)
    shown = {event["name"]: event for event in own if event["ph"] == "X" and event["pid"] == host_pid}
    assert set(shown) == {of.message for of in MARKS}
    assert shown["plain"]["args"] == {
        "Category": "3",
        "Payload_type": 1,
        "Payload_value": 2**63,
        "Message_type": 2,
        "event_type": "marker",
    }
    assert shown["dot"]["args"] == {"event_type": "marker_ex", "domain": "data"}
    assert shown["outer"]["dur"] == pytest.approx(380, abs=0.3)
    assert shown["own thread"]["tid"] == 99
    names = [event["args"] for event in own if event["name"] == "process_name"]
    assert {"name": "Ascend Hardware"} in names
    assert len(names) == 2
    on_device = [event for event in own if event["ph"] == "X" and event["pid"] == device_pid]
    assert {event["name"] for event in on_device} == {'on "stream", 2', "dot"}
    assert all(set(event["args"]) == {"Physic Stream Id", "Task Id"} and event["tid"] == 2 for event in on_device)
    flows = [event for event in own if event.get("cat") == "MsTx"]
    assert sorted(event["ph"] for event in flows) == ["f", "f", "s", "s"]
    for event in flows:
        assert event["name"] == f"MsTx_{event['id']}"
        assert event["pid"] == (host_pid if event["ph"] == "s" else device_pid)


def test_marks_of_the_mstx_library_have_their_domain_even_where_it_is_the_default(
    exported: Callable[..., Files],
) -> None:
    files = exported([mark("of the library", 10, extended=True), mark("plain", 20)])
    cells = ("category", "payload_type", "message_type", "domain", "Device_id")
    library, plain = ([row[name] for name in cells] for row in rows_of(files["msprof_tx.csv"]))
    assert library == ["N/A", "N/A", "N/A", "default", "host"]
    assert plain == ["0", "0", "0", "N/A", "host"]
    shown = {e["name"]: e["args"] for e in json.loads(files["msprof_tx.json"].read_text()) if e["ph"] == "X"}
    assert shown["of the library"] == {"event_type": "marker", "domain": "default"}
    assert "MsTx" not in files["msprof_tx.json"].read_text()


def test_the_python_writer_shows_what_the_native_one_shows(exported: Callable[..., Files]) -> None:
    events = json.loads(exported(MARKS, chip="Ascend310P3")["msprof_tx.json"].read_text())
    dots = [event["args"] for event in events if event["name"] == "dot" and "domain" in event.get("args", {})]
    # Ascend/msprof analysis/viewer/association/host_connect_device.py takes mark_id out of the arguments again.
    assert [list(args) for args in dots] == [["event_type", "domain"]]


def test_nothing_is_left_without_the_switch_or_marks(exported: Callable[..., Files]) -> None:
    assert not {"msprof_tx.csv", "msprof_tx.json"} & set(exported(MARKS, tx=False))


def test_marks_stand_alone_when_no_tasks_are_recorded(tmp_path: Path) -> None:
    profile = record(tmp_path, MARKS, level=Level.NONE)
    assert profile.tasks.is_empty()
    names = {path.name.replace("_20260131235958", "") for path in export_msprof(profile, now=NOW)}
    assert names == {"msprof_tx.csv", "msprof_tx.json", "msprof.json", "api_statistic.csv", "README.txt"}


@pytest.mark.parametrize(
    ("filters", "kept"),
    [
        (Filters(tx_domains_include=("data",)), {"in a domain", "dot"}),
        (Filters(tx_domains_exclude=("default",)), {"in a domain", "dot"}),
        (Filters(tx_domains_exclude=("data",)), {of.message for of in MARKS} - {"in a domain", "dot"}),
    ],
)
def test_domains_narrow_what_is_recorded(tmp_path: Path, filters: Filters, kept: set[str]) -> None:
    assert set(record(tmp_path, MARKS, filters=filters).frame("marks")["message"]) == kept


@pytest.mark.parametrize("clock", list(Clock))
def test_markers_run_in_the_order_of_their_stream(tmp_path: Path, clock: Clock) -> None:
    """Between any two operators a marker: it runs when the kernel before it has ended, before the next begins."""
    marks = [mark(str(index), index * 100 + 75, stream=2, kind=MarkKind.EXTENDED_POINT) for index in range(6)]
    around = mark("around", 75, 475, MarkKind.START_END, stream=2)
    profile = record(tmp_path, [*marks, around], clock=clock)
    table = profile.frame("marks")
    ran = table.filter(table["event_type"] == "marker_ex")["device_start_ns"].to_numpy()
    tasks = profile.tasks.sort("start_ns")
    begins = tasks["start_ns"].to_numpy()
    ends = begins + tasks["duration_ns"].to_numpy()
    assert len(begins) == 6
    assert (ran >= ends).all()
    assert (ran[:-1] <= begins[1:]).all()
    assert (ran >= table.filter(table["event_type"] == "marker_ex")["start_ns"].to_numpy()).all()
    span = table.row(by_predicate=pl.col("message") == "around", named=True)
    assert (span["device_start_ns"], span["device_end_ns"]) == (ran[0], ran[4])


def test_a_marker_waits_for_a_collective_that_blocks_its_stream(tmp_path: Path) -> None:
    collective = Collective(
        kind="allReduce", start_ns=at(610), thread=PID, group="world", ranks=(0, 1), rank=0, size_bytes=2**24,
        dtype="FLOAT", count=2**22,
    )  # fmt: skip
    profile = record(tmp_path, [mark("after", 700, stream=2)], collectives=(collective,))
    ended = profile.communication_ops.select(pl.col("start_ns") + pl.col("duration_ns")).item()
    assert profile.frame("marks")["device_start_ns"][0] >= ended


def test_collectives_with_a_mark_are_ranges_among_those_of_the_user(tmp_path: Path) -> None:
    groups = (("world", 610, "first {stream_id}"), ("pair", 640, ""), ("world", 660, "second {stream_id}"))
    collectives = tuple(
        Collective(
            kind="allReduce", start_ns=at(begin), end_ns=at(begin + 5), thread=PID, group=group, ranks=(0, 1), rank=0,
            size_bytes=2**24, dtype="FLOAT", count=2**22, mark=text,
        )
        for group, begin, text in groups
    )  # fmt: skip
    own = [mark("before", 10), mark("on the way", 615, 700, MarkKind.START_END, stream=2), mark("after", 5000)]
    profile = record(tmp_path, own, collectives=collectives)
    table = profile.frame("marks")
    ops = profile.communication_ops.sort("start_ns")
    streams = profile.frame("communication_tasks").filter(pl.col("plane_id") == 0)
    (world,) = streams.filter(pl.col("connection_id") == ops["connection_id"][0])["stream_id"].unique().to_list()
    ranges = table.filter(pl.col("domain") == "communication")
    assert ranges["message"].to_list() == [f"first {world}", f"second {world}"]
    assert ranges["stream_id"].to_list() == [world, world]
    assert ranges["device_start_ns"].to_list() == [ops["start_ns"][0], ops["start_ns"][2]]
    assert (ranges["device_end_ns"] - ranges["device_start_ns"]).to_list() == [
        ops["duration_ns"][0],
        ops["duration_ns"][2],
    ]
    assert (ranges["end_ns"] > ranges["start_ns"]).all()
    assert table["message"].to_list() == ["before", "on the way", *ranges["message"], "after"]
    assert table["mark_id"].drop_nulls().is_sorted()
    tasks = streams.filter(pl.col("stream_id") == world)["task_id"].max()
    assert isinstance(tasks, int)
    assert ranges["task_id"].min() == tasks + 1, "numbered after the tasks of the stream"


def test_domains_choose_collectives_too(tmp_path: Path) -> None:
    collective = Collective(
        kind="allReduce", start_ns=at(610), thread=PID, group="world", ranks=(0, 1), rank=0, size_bytes=2**24,
        dtype="FLOAT", count=2**22, mark="around",
    )  # fmt: skip
    filters = Filters(tx_domains_exclude=("communication",))
    profile = record(tmp_path / "without", [mark("own", 10)], collectives=(collective,), filters=filters)
    assert profile.frame("marks")["message"].to_list() == ["own"]
    filters = Filters(tx_domains_include=("communication",))
    profile = record(tmp_path / "alone", [mark("own", 10)], collectives=(collective,), filters=filters)
    assert profile.frame("marks")["message"].to_list() == ["around"]


@settings(deadline=None, max_examples=60)
@given(st.text(max_size=700))
def test_segments_put_together_are_the_message(message: str) -> None:
    pieces = _segments(message)
    assert b"".join(pieces).decode() == message.replace("\0", " ").encode("utf-8", "replace").decode()
    assert all(len(piece) <= 155 for piece in pieces)
    for piece in pieces:
        piece.decode()


def test_long_messages_are_whole_when_extended_and_cut_when_plain(tmp_path: Path) -> None:
    long = "flügge, " * 60
    profile = record(tmp_path, [mark(long, 10), mark(long, 20, domain="own"), mark("", 30)])
    plain, extended, nothing = profile.frame("marks")["message"].to_list()
    assert extended == long
    assert nothing == ""
    assert long.startswith(plain)
    assert 150 <= len(plain.encode()) <= 155
    assert not profile.notes


@pytest.mark.slow
def test_a_hundred_thousand_marks_are_quick(tmp_path: Path) -> None:
    marks = [
        mark(f"step {index % 100}", index / 100, index / 100 + 5, MarkKind.START_END, stream=2 if index % 2 else None)
        for index in range(100_000)
    ]
    begun = time.perf_counter()
    profile = record(tmp_path, marks)
    paths = export_msprof(profile, now=NOW)
    took = time.perf_counter() - begun
    table = next(path for path in paths if path.name.startswith("msprof_tx") and path.suffix == ".csv")
    assert len(table.read_text().splitlines()) == 100_001
    assert profile.frame("marks")["device_id"].is_not_null().sum() == 50_000
    assert took < 15, f"{took:.1f} s"
