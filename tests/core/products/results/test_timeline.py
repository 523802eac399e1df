"""Timelines in the words of two toolkits: events written by hand, as trace_view.json and as msprof_*.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drynpu import DrynpuError
from drynpu.analysis import communication_time, communication_transfers, link_operators, overlap, summarise
from drynpu.exporters.chrome import export_chrome
from drynpu.products import load_profile

PID, DEVICE = 4711, 3
Event = dict[str, Any]


def layer(number: int, name: str, device: int = DEVICE) -> tuple[int, list[Event]]:
    pid = PID << 10 | number << 5 | device
    return pid, [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}]


def thread(pid: int, tid: int, name: str) -> Event:
    return {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": name}}


def span(name: str, pid: int, tid: int, start_us: str, us: float, **more: Any) -> Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": start_us, "dur": us, **more}


def at(us: float) -> str:
    return f"1736408883{int(us):06}.{round(us % 1 * 1000):03}"


def ns(us: float) -> int:
    return 1736408883_000000_000 + round(us * 1000)


def events(communication: str, group: str, stream: str) -> list[Event]:
    """A step with one operator, its kernel on the device and a collective of two planes."""
    hardware, found = layer(13, "Ascend Hardware")
    cann, calls = layer(7, "CANN", 31)
    hccl, collectives = layer(15, communication)
    bars, overlaps = layer(23, "Overlap Analysis")
    found += [*calls, *collectives, *overlaps]
    found += [{"ph": "M", "name": "process_name", "pid": PID, "tid": 0, "args": {"name": "Python"}}]
    found += [thread(hccl, 0, f"Group {group} Communication"), thread(hccl, 1, "Plane 0"), thread(hccl, 2, "Plane 1")]
    op = {"Sequence number": 9, "Fwd thread id": 0, "Input Dims": "2,3;\r\n", "Input type": "float;\r\nScalar"}
    mm = {"Model Id": 4294967295, "Task Type": "AI_CORE", stream: 2, "Task Id": 70000, "Batch Id": 1}
    copy = {"Task Type": "SDMA_SQE", stream: 2, "Task Id": 5, "Subtask Id": 4294967295, "connection_id": 8}
    found += [
        span("ProfilerStep#7", PID, PID, at(0), 900.5, cat="cpu_op", args={"Sequence number": -1}),
        span("aten::mm", PID, PID, at(10), 100.25, cat="cpu_op", args=op),
        span("Enqueue@aclnnMm", PID, PID, at(50), 5.0, cat="enqueue", args={"correlation_id": 31}),
        span("Dequeue@aclnnMm", PID, 99, at(60), 40.0, cat="dequeue", args={"correlation_id": 31}),
        span("Node@launch", cann, 99, at(70), 20.5, args={"Mode": "launch", "item_id": "MatMul", "connection_id": 8}),
        span("MatMul_1", hardware, 2, at(200.125), 30.0, args=mm | {"connection_id": 8}),
        span("MEMCPY_ASYNC", hardware, 2, at(300), 2.0, args=copy | {"size(B)": 64, "operation": "host to device"}),
        span("hcom_allReduce__586_0_1", hccl, 0, at(220), 50.0, args={"connection_id": 12, "data_type": "FP32"}),
        span("Computing", bars, 0, at(200.125), 30.0),
        span("Communication", bars, 1, at(220), 50.0),
        span("Communication(Not Overlapped)", bars, 2, at(230.125), 39.875),
    ]
    part = {"notify_id": "0", "task id": 1, "src rank": 0, "transport type": "SDMA", "size(Byte)": 1000}
    local, remote = {"link type": "ON_CHIP", "dst rank": 4294967295}, {"link type": "HCCS", "dst rank": 1}
    found += [
        span("Memcpy", hccl, 1, at(221), 1.0, args=part | local | {"bandwidth(GB/s)": 1.0}),
        span("Notify_Wait", hccl, 2, at(222), 3.0, args=part | {"link type": "INVALID_TYPE", "dst rank": 1}),
        span("Memcpy", hccl, 2, at(230), 4.0, args=part | remote | {"bandwidth(GB/s)": 0.25}),
    ]
    return found


@pytest.mark.parametrize(
    ("name", "words", "whole"),
    [
        ("trace_view.json", ("HCCL", "0", "Physic Stream Id"), lambda found: found),
        ("msprof_20250109074803.json", ("Communication", "tp", "Stream Id"), lambda found: {"traceEvents": found}),
    ],
)
def test_every_layer(tmp_path: Path, name: str, words: tuple[str, str, str], whole: Any) -> None:
    (tmp_path / name).write_text(json.dumps(whole(events(*words))))
    profile = load_profile(tmp_path)
    assert (profile.pid, profile.device_ids, profile.notes) == (PID, (DEVICE,), ())
    op = profile.host_ops.row(1, named=True)
    assert (op["name"], op["start_ns"], op["end_ns"]) == ("aten::mm", ns(10), ns(110.25))
    assert (op["sequence"], op["input_shapes"], op["input_dtypes"]) == (9, "2,3;", "float;Scalar")
    assert profile.queue["side"].to_list() == ["enqueue", "dequeue"]
    (call,) = profile.api.rows(named=True)
    assert (call["level"], call["name"], call["item"], call["tid"]) == ("node", "launch", "MatMul", 99)
    kernel, copy = profile.tasks.rows(named=True)
    assert (kernel["device_id"], kernel["stream_id"], kernel["task_id"], kernel["batch_id"]) == (3, 2, 70000, 1)
    assert (kernel["kernel_name"], kernel["kernel_type"]) == ("MatMul_1", "AI_CORE")
    assert (copy["kernel_name"], copy["copy_bytes"], copy["copy_kind"]) == ("", 64, 1)
    assert profile.kernels.select("name", "start_ns", "node_start_ns").row(0) == ("MatMul_1", ns(200.125), ns(70))
    assert profile.communication_ops.select("group", "op_type", "dtype").row(0) == (words[1], "hcom_allReduce_", "FP32")
    # The operator that put the work into the queue is found as in raw data.
    links = link_operators(profile).kernel_op
    assert links.filter(links["kind"] == "kernel")["op_start_ns"].to_list() == [ns(10)]


def test_the_main_plane_is_the_first_that_moves_something_to_another_rank(tmp_path: Path) -> None:
    (tmp_path / "trace_view.json").write_text(json.dumps(events("HCCL", "0", "Stream Id")))
    profile = load_profile(tmp_path)
    assert profile.frame("communication_tasks")["is_master"].to_list() == [False, True, True]
    (times,) = communication_time(profile, communication_transfers(profile)).rows(named=True)
    assert (times["transit_ns"], times["wait_ns"], times["synchronization_ns"]) == (4000, 3000, 3000)


def test_communication_json_names_the_group(tmp_path: Path) -> None:
    (tmp_path / "trace_view.json").write_text(json.dumps(events("HCCL", "0", "Stream Id")))
    times = {"Start Timestamp(us)": 1736408883000220.0, "Elapse Time(ms)": 0.05}
    entry = {"hcom_allReduce__586_0_1@1752": {"Communication Time Info": times}, "Total Op Info": {}}
    (tmp_path / "communication.json").write_text(json.dumps({"step7": {"p2p": {}, "collective": entry}}))
    profile = load_profile(tmp_path)
    assert profile.communication_ops["group"].to_list() == ["1752"]
    assert set(profile.frame("communication_tasks")["group"]) == {"1752"}
    # Without a timeline it is all that is known of collectives.
    (tmp_path / "trace_view.json").rename(tmp_path / "trace.txt")
    (tmp_path / "step_trace_time.csv").write_text("Step,Computing,Free\n7,1.0,2.0\n")
    (found,) = load_profile(tmp_path).communication_ops.rows(named=True)
    assert (found["start_ns"], found["duration_ns"], found["group"]) == (ns(220), 50_000, "1752")


def test_what_the_timeline_states_is_shown(tmp_path: Path) -> None:
    (tmp_path / "trace_view.json").write_text(json.dumps(events("HCCL", "0", "Stream Id")))
    profile = load_profile(tmp_path)
    assert overlap(profile)["kind"].to_list() == ["Computing", "Communication", "Communication(Not Overlapped)"]
    (busy,) = summarise(profile).busy
    assert (busy.device_id, busy.span_us) == (DEVICE, 69.875)
    assert "shapes of kernels" in (summarise(profile).missing or ())


def count(name: str, pid: int, us: float, **value: Any) -> Event:
    return {"ph": "C", "name": name, "pid": pid, "tid": 0, "ts": at(us), "args": value}


def test_counters_of_memory_caches_and_monitors(tmp_path: Path) -> None:
    ids = {name: layer(number, name) for name, number in {"DDR": 18, "Acc PMU": 19, "HBM": 24, "LLC": 27}.items()}
    ids |= {"Stars Soc Info": layer(25, "Stars Soc Info"), "QoS": layer(29, "QoS")}
    pid = {name: number for name, (number, _) in ids.items()}
    found = [event for _, events_of_layer in ids.values() for event in events_of_layer]
    for us, factor in ((10, 1), (20.5, 3)):
        found += [
            count("DDR/Read", pid["DDR"], us, **{"Read(MB/s)": 5.5 * factor}),
            count("DDR/Write", pid["DDR"], us, **{"Write(MB/s)": str(2.25 * factor)}),
            count("HBM 3/Write", pid["HBM"], us, **{"Write(MB/s)": 7.0 * factor}),
            count("LLC 1 Read/Throughput", pid["LLC"], us, **{"Throughput(MB/s)": 900.0 * factor}),
            count("LLC 1 Read/Hit Rate", pid["LLC"], us, **{"Hit Rate(%)": 0.25 * factor}),
            count("read_bandwidth", pid["Acc PMU"], us, value=str(11 * factor)),
            count("write_ost", pid["Acc PMU"], us, value=4 * factor),
            count("write_band_width", pid["Acc PMU"], us, value=factor, acc_id=6),
            count("L2 Buffer Bw Level", pid["Stars Soc Info"], us, **{"L2 Buffer Bw Level": 2 * factor}),
            count("Mata Bw Level", pid["Stars Soc Info"], us, **{"Mata Bw Level": 1 * factor}),
            count("QoS other", pid["QoS"], us, value=8 * factor),
            count("QoS split", pid["QoS"], us, **{"die 0": 6 * factor, "die 1": 5 * factor}),
        ]
    (tmp_path / "msprof_20250109074803.json").write_text(json.dumps(found))
    profile = load_profile(tmp_path)
    assert profile.notes == ()
    memory = profile.frame("memory_bandwidth").select("device_id", "kind", "unit_id", "event", "time_ns", "mb_s")
    assert memory.rows() == [
        (DEVICE, "hbm", 3, "write", ns(10), 7.0),
        (DEVICE, "hbm", 3, "write", ns(20.5), 21.0),
        (DEVICE, "ddr", -1, "read", ns(10), 5.5),
        (DEVICE, "ddr", -1, "write", ns(10), 2.25),
        (DEVICE, "ddr", -1, "read", ns(20.5), 16.5),
        (DEVICE, "ddr", -1, "write", ns(20.5), 6.75),
    ]
    caches = profile.frame("llc_samples").select("llc_id", "mode", "time_ns", "hit_rate", "mb_s")
    assert caches.rows() == [(1, "read", ns(10), 0.25, 900.0), (1, "read", ns(20.5), 0.75, 2700.0)]
    loads = profile.frame("acc_pmu_samples").drop("device_id", "read_outstanding")
    assert loads.columns == ["time_ns", "acc_id", "read_bandwidth", "write_bandwidth", "write_outstanding"]
    assert loads.rows() == [
        (ns(10), None, 11, None, 4),
        (ns(10), 6, None, 1, None),
        (ns(20.5), None, 33, None, 12),
        (ns(20.5), 6, None, 3, None),
    ]
    assert profile.frame("soc_levels").select("l2_buffer_level", "mata_level").rows() == [(2, 1), (6, 3)]
    partitions = profile.frame("qos_samples").select("event", "time_ns", "die", "bandwidth")
    assert partitions.rows() == [
        ("other", ns(10), None, 8),
        ("other", ns(20.5), None, 24),
        ("split", ns(10), 0, 6),
        ("split", ns(10), 1, 5),
        ("split", ns(20.5), 0, 18),
        ("split", ns(20.5), 1, 15),
    ]


@pytest.mark.parametrize(
    "damaged", [None, "text", *(pytest.param(one, marks=pytest.mark.slow) for one in (True, 1.5e300))]
)
def test_a_damaged_field_costs_its_event_alone(tmp_path: Path, damaged: object) -> None:
    """Each field of each event in turn. What is left is summed up and written."""
    whole = events("HCCL", "0", "Physic Stream Id")
    whole.append({"ph": "C", "name": "Host Memory", "pid": PID, "tid": 0, "ts": at(5), "args": {"KB": 3}})
    for number, event in enumerate(whole):
        for name in event:
            changed = [*whole[:number], event | {name: damaged}, *whole[number + 1 :]]
            (tmp_path / "trace_view.json").write_text(json.dumps(changed))
            profile = load_profile(tmp_path)
            summarise(profile)
            assert export_chrome(profile, tmp_path / "out"), (event, name)
            lacking = {"ts", "ph"} if damaged is None else {"ts"}
            if name in lacking and event["ph"] != "M" and damaged is not True:
                assert "1 events of the timeline have no usable" in " ".join(profile.notes), (event, name)


@pytest.mark.parametrize("text", ["5", "null", '{"traceEvents": 7}'])
def test_a_timeline_that_is_no_list_of_events_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace_view.json").write_text(text)
    with pytest.raises(DrynpuError, match="no result could be read"):
        load_profile(tmp_path)
