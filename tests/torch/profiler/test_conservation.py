"""Laws across the files of the example: nothing is lost, counted twice, or in two places at once."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest

Nanoseconds = Callable[[str], int]
Event = dict[str, Any]
KERNEL = ("Task ID", "Stream ID", "Name")


def length_ns(event: Event) -> int:
    return round(event["dur"] * 1000)


def union_ns(ranges: Iterable[tuple[int, int]]) -> int:
    total, reach = 0, 0
    for start, end in sorted(ranges):
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


def kernels_by_place(demo: Any, ns: Nanoseconds) -> dict[tuple[str, int], dict[str, str]]:
    found = {(row["Stream ID"], ns(row["Start Time(us)"])): row for row in demo.rows("kernel_details.csv")}
    assert len(found) == len(demo.rows("kernel_details.csv")) > 1000
    return found


def test_a_kernel_is_once_in_every_file(demo: Any, ns: Nanoseconds) -> None:
    kernels = demo.rows("kernel_details.csv")
    with demo.toolkit("op_summary").open(encoding="utf-8", newline="") as stream:
        summary = list(csv.DictReader(stream))
    in_details = [(*(row[c] for c in KERNEL), row["Start Time(us)"], row["Duration(us)"]) for row in kernels]
    in_summary = [
        (row["Task ID"], row["Stream ID"], row["Op Name"], row["Task Start Time(us)"], row["Task Duration(us)"])
        for row in summary
    ]
    assert sorted(in_details) == sorted(in_summary)
    hardware = demo.layer("Ascend Hardware")
    in_trace = [
        (
            str(e["args"]["Task Id"]),
            str(e["tid"]),
            e["name"],
            e["ts"] + "\t",
            f"{e['dur']:.3f}",
        )
        for e in hardware
        if e["name"] != "MEMCPY_ASYNC"
    ]
    assert sorted(in_trace) == sorted(in_details)
    in_task_time = [
        (row["task_id"], row["stream_id"], row["kernel_name"], row["task_start(us)"], row["task_time(us)"])
        for row in demo.rows("task_time.csv")
        if row["kernel_type"] != "MEMCPY_ASYNC"
    ]
    assert sorted(in_task_time) == sorted(in_details)
    copies = [e for e in hardware if e["name"] == "MEMCPY_ASYNC"]
    assert len(demo.rows("task_time.csv")) == len(in_details) + len(copies)
    assert copies


def test_task_times_stop_after_their_length(demo: Any, ns: Nanoseconds) -> None:
    for row in demo.rows("task_time.csv"):
        assert ns(row["task_stop(us)"]) - ns(row["task_start(us)"]) == ns(row["task_time(us)"])


def test_operator_statistics_are_sums_over_kernels(demo: Any) -> None:
    groups: dict[tuple[str, str], list[Decimal]] = defaultdict(list)
    for row in demo.rows("kernel_details.csv"):
        groups[row["Type"], row["Accelerator Core"]].append(Decimal(row["Duration(us)"]))
    whole = sum(map(sum, groups.values()), Decimal())
    rows = demo.rows("op_statistic.csv")
    assert {(r["OP Type"], r["Core Type"]) for r in rows} == set(groups)
    assert len(rows) == len(groups)
    for row in rows:
        durations = groups[row["OP Type"], row["Core Type"]]
        assert int(row["Count"]) == len(durations)
        assert Decimal(row["Total Time(us)"]) == sum(durations)
        assert Decimal(row["Min Time(us)"]) == min(durations)
        assert Decimal(row["Max Time(us)"]) == max(durations)
        # The vendor cuts the average after three decimals.
        assert 0 <= sum(durations) / len(durations) - Decimal(row["Avg Time(us)"]) < Decimal("0.001")
        assert float(row["Ratio(%)"]) == pytest.approx(100 * float(sum(durations) / whole), abs=0.0006)
    totals = [Decimal(row["Total Time(us)"]) for row in rows]
    assert totals == sorted(totals, reverse=True)


def test_api_statistics_are_sums_over_the_cann_layer(demo: Any) -> None:
    calls: dict[tuple[str, str], list[int]] = defaultdict(list)
    for event in demo.layer("CANN"):
        calls[event["args"]["level"], event["name"].split("@")[1]].append(length_ns(event))
    rows = {(row["Level"], row["API Name"]): row for row in demo.rows("api_statistic.csv")}
    assert set(rows) == set(calls)
    assert {level for level, _ in rows} == {"acl", "node", "runtime"}
    for key, row in rows.items():
        durations = calls[key]
        assert row["Device_id"] == "host"
        assert int(row["Count"]) == len(durations)
        assert round(float(row["Time(us)"]) * 1000) == sum(durations)
        assert round(float(row["Min(us)"]) * 1000) == min(durations)
        assert round(float(row["Max(us)"]) * 1000) == max(durations)
        assert float(row["Avg(us)"]) == pytest.approx(sum(durations) / len(durations) / 1000, abs=0.0006)


def steps_on_device(demo: Any, ns: Nanoseconds) -> list[tuple[dict[str, str], list[Event]]]:
    """Rows of step_trace_time.csv with the overlap events that start in the device range of the step's tasks."""
    overlap = demo.layer("Overlap Analysis")
    host = {e["name"]: e for e in demo.operators() if e["name"].startswith("ProfilerStep#")}
    flows: dict[int, dict[str, int]] = defaultdict(dict)
    for event in demo.trace:
        if event.get("cat") == "async_npu":
            flows[event["id"]][event["ph"]] = ns(event["ts"])
    ends = {ns(e["ts"]): ns(e["ts"]) + length_ns(e) for e in demo.layer("Ascend Hardware")}
    found = []
    for row in demo.rows("step_trace_time.csv"):
        step = host[f"ProfilerStep#{row['Step']}"]
        first, last = ns(step["ts"]), ns(step["ts"]) + length_ns(step)
        tasks = [flow["f"] for flow in flows.values() if first <= flow["s"] <= last]
        assert tasks
        begin, end = min(tasks), max(last, *(ends[task] for task in tasks))
        found.append((row, [e for e in overlap if begin <= ns(e["ts"]) < end]))
    return found


def test_step_times_are_sums_of_the_overlap_layer(demo: Any, ns: Nanoseconds) -> None:
    for row, events in steps_on_device(demo, ns):
        sums: Counter[str] = Counter()
        for event in events:
            sums[event["name"]] += length_ns(event)
        for kind in ("Computing", "Communication(Not Overlapped)", "Communication", "Free"):
            assert round(float(row[kind]) * 1000) == sums[kind], (row["Step"], kind)
        begin = min(ns(e["ts"]) for e in events)
        end = max(ns(e["ts"]) + length_ns(e) for e in events)
        whole = float(row["Computing"]) + float(row["Communication(Not Overlapped)"]) + float(row["Free"])
        assert whole == pytest.approx((end - begin) / 1000, abs=0.01)
        assert float(row["Stage"]) == pytest.approx((end - begin) / 1000, abs=0.01)
        assert float(row["Overlapped"]) == pytest.approx(
            float(row["Communication"]) - float(row["Communication(Not Overlapped)"])
        )


def test_computing_is_the_union_of_the_steps_kernels(demo: Any, ns: Nanoseconds) -> None:
    by_step: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for row in demo.rows("kernel_details.csv"):
        start = ns(row["Start Time(us)"])
        by_step[row["Step Id"]].append((start, start + ns(row["Duration(us)"])))
    assert set(by_step) == {"3", "4", "5"}
    for row in demo.rows("step_trace_time.csv"):
        assert round(float(row["Computing"]) * 1000) == union_ns(by_step[row["Step"]])


@pytest.mark.parametrize("category", ["async_npu", "async_task_queue", "HostToDevice"])
def test_flows_have_two_ends_host_before_device(demo: Any, ns: Nanoseconds, category: str) -> None:
    ends: dict[Any, dict[str, list[Event]]] = defaultdict(lambda: {"s": [], "f": []})
    for event in demo.trace:
        if event.get("cat") == category and event["ph"] in "sf":
            ends[event["id"]][event["ph"]].append(event)
    places = Counter((e["pid"], e["tid"], e["ts"]) for e in demo.trace if e["ph"] == "X")
    layers = demo.layers
    device = layers["Python"] if category == "async_task_queue" else layers["Ascend Hardware"]
    tasks = demo.layer("Ascend Hardware")
    assert len(ends) == (len({t["ts"] for t in tasks}) if category != "async_task_queue" else len(ends))
    for identity, pair in ends.items():
        (start,), (finish,) = pair["s"], pair["f"]
        assert start["name"] == finish["name"]
        assert finish["bp"] == "e", identity
        assert finish["pid"] == device
        assert ns(start["ts"]) <= ns(finish["ts"])
        assert places[finish["pid"], finish["tid"], finish["ts"]] == 1
        if category != "HostToDevice":
            assert places[start["pid"], start["tid"], start["ts"]] >= 1
    if category == "HostToDevice":
        assert {(e["tid"], e["ts"]) for e in tasks} == {(p["f"][0]["tid"], p["f"][0]["ts"]) for p in ends.values()}


def test_a_kernel_starts_after_the_call_that_launches_it(demo: Any, ns: Nanoseconds) -> None:
    """Connections are numbered in the order of the calls, so the n-th runtime call launches the n-th task."""
    calls = sorted((e for e in demo.layer("CANN") if e["args"]["level"] == "runtime"), key=lambda e: ns(e["ts"]))
    tasks = sorted(demo.layer("Ascend Hardware"), key=lambda e: e["args"]["connection_id"])
    assert len(calls) == len(tasks)
    for call, task in zip(calls, tasks, strict=True):
        assert ns(task["ts"]) >= ns(call["ts"]) + length_ns(call)
        assert call["name"].startswith("Runtime@Memc") == (task["name"] == "MEMCPY_ASYNC")


def test_events_of_a_track_nest(demo: Any, ns: Nanoseconds) -> None:
    tracks: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in demo.trace:
        if event["ph"] == "X":
            start = ns(event["ts"])
            tracks[event["pid"], event["tid"]].append((start, start + length_ns(event)))
    assert len(tracks) >= 7
    for track, ranges in tracks.items():
        ends: list[int] = []
        for start, end in sorted(ranges, key=lambda r: (r[0], -r[1])):
            while ends and ends[-1] <= start:
                ends.pop()
            assert not ends or end <= ends[-1], (track, start, end, ends[-1])
            ends.append(end)


def test_nothing_overlaps_on_a_stream(demo: Any, ns: Nanoseconds) -> None:
    reach: dict[int, int] = {}
    for event in sorted(demo.layer("Ascend Hardware"), key=lambda e: ns(e["ts"])):
        assert ns(event["ts"]) >= reach.get(event["tid"], 0)
        reach[event["tid"]] = ns(event["ts"]) + length_ns(event)


def test_device_time_of_operators_is_that_of_their_kernels(demo: Any, ns: Nanoseconds) -> None:
    linked = {e["ts"] for e in demo.trace if e.get("cat") == "async_npu" and e["ph"] == "f"}
    tasks = [e for e in demo.layer("Ascend Hardware") if e["ts"] in linked]
    rows = demo.rows("operator_details.csv")
    own = sum(float(row["Device Self Duration(us)"]) for row in rows)
    assert own == pytest.approx(sum(e["dur"] for e in tasks), abs=0.01)
    assert {e["ts"] for e in demo.layer("Ascend Hardware")} == linked
    cube = sum(float(row["Device Self Duration With AICore(us)"]) for row in rows)
    kernels = demo.rows("kernel_details.csv")
    assert cube == pytest.approx(
        sum(float(k["Duration(us)"]) for k in kernels if k["Accelerator Core"] == "AI_CORE"), abs=0.01
    )
    assert cube > 0
    for row in rows:
        assert float(row["Device Self Duration(us)"]) <= float(row["Device Total Duration(us)"]) + 0.001
        assert float(row["Host Self Duration(us)"]) <= float(row["Host Total Duration(us)"])


def test_operators_are_rows_and_events_alike(demo: Any) -> None:
    shown = [e for e in demo.operators() if not e["name"].startswith("ProfilerStep#")]
    rows = demo.rows("operator_details.csv")
    assert [row["Name"] for row in rows] == [e["name"] for e in shown]
    for row, event in zip(rows, shown, strict=True):
        assert float(row["Host Total Duration(us)"]) == event["dur"]
        assert row["Input Shapes"] == event["args"].get("Input Dims", "")


def test_steps_of_kernels_are_the_recorded_ones(demo: Any, ns: Nanoseconds) -> None:
    steps = [row["Step Id"] for row in demo.rows("kernel_details.csv")]
    assert Counter(steps).keys() == {"3", "4", "5"}
    assert steps == sorted(steps)
    assert len(set(Counter(steps).values())) == 1  # the steps do the same work


def test_waits_lie_between_kernels(demo: Any, ns: Nanoseconds) -> None:
    previous = None
    for row in demo.rows("kernel_details.csv"):
        start = ns(row["Start Time(us)"])
        wait = 0 if previous is None else max(0, start - previous)
        assert ns(row["Wait Time(us)"]) == wait
        previous = start + ns(row["Duration(us)"])


def test_nothing_ends_after_the_session(demo: Any, ns: Nanoseconds) -> None:
    info = demo.document("profiler_info_0.json")
    end = info["end_info"]["collectionTimeEnd"]
    assert max(ns(e["ts"]) + length_ns(e) for e in demo.trace if e["ph"] == "X") <= end
    assert max(ns(row["Timestamp(us)"]) for row in demo.rows("memory_record.csv")) <= end


def test_memory_totals_are_running_sums(demo: Any, ns: Nanoseconds) -> None:
    """The blocks of operator_memory.csv, put one upon another, give every total of memory_record.csv."""
    blocks = demo.rows("operator_memory.csv")
    records = [row for row in demo.rows("memory_record.csv") if row["Component"] == "PTA"]
    assert len(blocks) > 100
    moved: dict[int, float] = defaultdict(float)
    for row in blocks:
        moved[ns(row["Allocation Time(us)"])] += float(row["Size(KB)"]) / 1024
        if row["Release Time(us)"]:
            moved[ns(row["Release Time(us)"])] -= float(row["Size(KB)"]) / 1024
    total = {ns(row["Timestamp(us)"]): float(row["Total Allocated(MB)"]) for row in records}  # the last of a moment
    assert sorted(total) == sorted(moved)
    first = min(total)
    running = total[first] - moved[first]
    assert running > 0  # the model's parameters were there before
    for moment in sorted(total):
        running += moved[moment]
        assert total[moment] == pytest.approx(running, abs=1e-6)


def test_memory_rows_agree_with_the_records(demo: Any, ns: Nanoseconds) -> None:
    totals: dict[int, set[str]] = defaultdict(set)
    for row in demo.rows("memory_record.csv"):
        if row["Component"] == "PTA":
            totals[ns(row["Timestamp(us)"])].add(row["Total Allocated(MB)"])
            assert float(row["Total Active(MB)"]) == float(row["Total Allocated(MB)"])
            assert float(row["Total Allocated(MB)"]) <= float(row["Total Reserved(MB)"])
            assert row["Device Type"] == "NPU:0"
    released = 0
    for row in demo.rows("operator_memory.csv"):
        begun = ns(row["Allocation Time(us)"])
        assert row["Allocation Total Allocated(MB)"] in totals[begun]
        if row["Release Time(us)"]:
            released += 1
            assert row["Release Total Allocated(MB)"] in totals[ns(row["Release Time(us)"])]
            assert ns(row["Duration(us)"]) == ns(row["Release Time(us)"]) - begun
            assert ns(row["Active Duration(us)"]) == ns(row["Active Release Time(us)"]) - begun
        else:
            assert row["Duration(us)"] == row["Release Total Allocated(MB)"] == ""
    assert released > 100


def test_the_device_reserves_what_the_allocator_does(demo: Any, ns: Nanoseconds) -> None:
    module = [(row["Timestamp(us)"], row["Total Reserved(MB)"]) for row in demo.rows("npu_module_mem.csv")]
    app = [row for row in demo.rows("memory_record.csv") if row["Component"] == "APP"]
    assert [(row["Timestamp(us)"], row["Total Reserved(MB)"]) for row in app] == module
    assert {row["Total Allocated(MB)"] for row in app} == {""}
    records = [row for row in demo.rows("memory_record.csv") if row["Component"] == "PTA"]
    reserved = {float(row["Total Reserved(MB)"]) for row in records}
    first = min(ns(row["Timestamp(us)"]) for row in records)
    samples = [(ns(time), float(size)) for time, size in module]
    assert all(size <= min(reserved) for time, size in samples if time < first)
    assert {size for time, size in samples if time >= first} <= reserved
