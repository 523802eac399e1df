"""FRAMEWORK read by the page's own words: struct formats, and the formula for times (mindspore_profiler.md 10, 11)."""

from __future__ import annotations

import configparser
import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from drynpu.products import load_profile

NONE = 2**64 - 1
EVENTS = {4: "KernelLaunch", 12: "PreLaunch", 28: "RunOp", 53: "PythonObserved", 0: "Default"}
MODULES = ("Default", "GraphExecutorPy", "RuntimeFramework", "PynativeFramework", "Kernel", "Python")


def records(path: Path, layout: str) -> list[tuple[tuple[Any, ...], dict[int, str]]]:
    """Decode type-length-value records: a struct and text fields in each."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        _, length = struct.unpack_from("<HI", data, at)
        body, at = data[at + 6 : at + 6 + length], at + 6 + length
        fixed, texts, place = struct.unpack_from(layout, body), {}, struct.calcsize(layout)
        while place < len(body):
            field, size = struct.unpack_from("<HI", body, place)
            texts[field] = body[place + 6 : place + 6 + size].decode()
            place += 6 + size
        found.append((fixed, texts))
    return found


def unix_ns(path: Path, count: int) -> int:
    """Turn a count of the host into Unix ns as MindSpore's analysis does."""
    (prof,) = path.glob("PROF_*")
    clocks = configparser.ConfigParser()
    clocks.read(prof / "host" / "host_start.log")
    start = json.loads((prof / "host" / "start_info").read_text())
    mhz = float(json.loads((prof / "host" / "info.json").read_text())["CPU"][0]["Frequency"])
    offset = int(start["collectionTimeBegin"]) * 1000 - int(start["clockMonotonicRaw"])
    elapsed = (count - int(clocks["Host"]["cntvct"])) * 1000 / mhz
    return round(elapsed) + int(clocks["Host"]["clock_monotonic_raw"]) + offset


def test_events_have_their_threads_times_and_flows(session: Any, hand: Any) -> None:
    found = records(session.path / "FRAMEWORK" / "mindspore.op_range", "<5Qi3Hb3?")
    kinds = Counter((MODULES[fixed[6]], EVENTS[fixed[7]]) for fixed, _ in found)
    launches = 3 * 8  # a copy, five operators and two collectives in each step
    assert kinds == {
        ("Python", "PythonObserved"): 3,
        ("RuntimeFramework", "PreLaunch"): 3 * 4,
        ("PynativeFramework", "RunOp"): 3 * 2,
        ("Kernel", "KernelLaunch"): launches,
        ("Default", "Default"): launches,
    }
    assert {fixed[5] for fixed, _ in found} == {hand.PID}
    begins = {fixed[1]: fixed for fixed, texts in found if texts[13] == "flow"}
    ends = {fixed[1]: (fixed, texts) for fixed, texts in found if fixed[1] != NONE and texts[13] != "flow"}
    assert set(begins) == set(ends)
    for flow, (end, texts) in ends.items():
        begin = begins[flow]
        assert begin[0] == hand.PID
        assert end[0] != hand.PID, "launched on a thread of its own"
        assert begin[4] <= end[3], texts
    steps = {texts[14]: fixed for fixed, texts in found if texts[14].startswith("ProfilerStep#")}
    assert set(steps) == {"ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"}
    for name, fixed in steps.items():
        inside = [other for other, _ in found if fixed[3] <= other[3] <= fixed[4]]
        assert {other[2] for other in inside} == {int(name[-1])}


def test_times_agree_with_the_tables(session: Any) -> None:
    found = records(session.path / "FRAMEWORK" / "mindspore.op_range", "<5Qi3Hb3?")
    told = sorted((unix_ns(session.path, fixed[3]), unix_ns(session.path, fixed[4])) for fixed, _ in found)
    events = session.profile.frame("framework_events").select("start_ns", "end_ns")
    assert sorted(events.iter_rows()) == told


def test_what_the_computing_operators_were_is_hidden_and_the_host_s_own_are_text(session: Any, hand: Any) -> None:
    (line,) = (session.path / "FRAMEWORK" / "cpu_op_execute_timestamp_0.txt").read_text().splitlines()
    name, kind, runs = line.split(";")
    assert (name, kind) == ("Default/GetNext-op9", "HostCpuOps")
    starts = [int(run.split(",")[0]) for run in runs.split()]
    assert len(starts) == 3
    assert starts[0] == hand.BEGIN_NS + 1_020_000
    assert [run.split(",")[1:] for run in runs.split()] == [["0.040000", str(hand.PID)]] * 3
    ops = session.profile.frame("host_cpu_ops")
    assert ops["start_ns"].to_list() == starts
    assert ops["duration_ns"].to_list() == [40_000] * 3


def test_memory_events_name_their_operator(session: Any, hand: Any) -> None:
    found = records(session.path / "FRAMEWORK" / "mindspore.memory_usage", "<i11QI4B")
    table = session.profile.frame("framework_memory")
    assert [fixed[3] for fixed, _ in found] == table["time_ns"].to_list()
    sizes = [None if fixed[5] == NONE else fixed[5] for fixed, _ in found]
    assert sizes == table["size_bytes"].to_list()
    assert [fixed[6] for fixed, _ in found] == table["used_bytes"].to_list()
    owners = [texts.get(13, "") for _, texts in found]
    assert owners[:2] == [hand.NAMES["MatMul"], hand.NAMES["BiasAdd"]]
    lines = (session.path / "FRAMEWORK" / "cpu_ms_memory_record_0.txt").read_text().splitlines()
    assert lines[0] == "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)"
    assert [line.split(",")[:2] for line in lines[1:]] == [[str(fixed[3]), str(fixed[6])] for fixed, _ in found]


def test_shapes_are_there_for_every_call(session: Any) -> None:
    found = records(session.path / "FRAMEWORK" / "mindspore.record_shapes", "")
    assert [fixed for fixed, _ in found] == [()] * 18
    assert found[1][1] == {
        0: "Default/network-Net/fc-Dense/MatMul-op0",
        1: "256,512;256,256",
        2: "FLOAT16;FLOAT16",
    }


def test_every_framework_s_tables_are_filled_as_well(session: Any) -> None:
    profile = session.profile
    assert profile.product == "mindspore"
    assert profile.rank_id == 0
    assert profile.notes == ()
    queue = profile.queue.group_by("side").len()
    assert dict(queue.iter_rows()) == {"enqueue": 24, "dequeue": 24}
    assert profile.host_ops.filter(pl.col("name").str.starts_with("ProfilerStep#")).height == 3
    assert profile.allocations["size_bytes"].sum() == profile.frame("framework_memory")["used_bytes"][-1]


def test_without_a_device_counts_are_of_ten_nanoseconds_since_1970(export: Any) -> None:
    session = export(told={"activities": ["CPU"]}, communication=False)
    assert not list(session.path.glob("PROF_*"))
    found = records(session.path / "FRAMEWORK" / "mindspore.op_range", "<5Qi3Hb3?")
    assert [fixed[3] * 10 for fixed, _ in found] == session.profile.frame("framework_events")["start_ns"].to_list()
    assert session.names == {"trace_view.json", "operator_details.csv"}
    names = {event["args"].get("name") for event in session.document("trace_view.json") if event["ph"] == "M"}
    assert {"MindSpore", "CPU OP", "Scope Layer"} <= names
    assert "Ascend Hardware" not in names


def test_without_a_frequency_counts_are_taken_for_those_of_100_mhz(hand: Any, tmp_path: Path) -> None:
    path = hand.record(tmp_path, communication=False)
    exact = load_profile(path).frame("framework_events")["start_ns"]
    (prof,) = path.glob("PROF_*")
    for info in prof.rglob("info.json*"):
        if info.suffix != ".done":
            document = json.loads(info.read_text())
            for cpu in document["CPU"]:
                cpu["Frequency"] = ""
            info.write_text(json.dumps(document))
    begin = hand.BEGIN_NS
    shown = load_profile(path).frame("framework_events")["start_ns"]
    assert (shown - begin).to_list() == ((exact - begin) * 10).to_list()
