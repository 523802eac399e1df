"""A trace holds every event of the tables with its time, its way from the host, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.core.analysis.conftest import host_op, make_profile
from tests.plugins.pages.tracks.test_index import call, kernel, profile

from drynpu.exporters.registry import all_exporters
from drynpu.plugins import from_plugins
from drynpu.tables import Profile
from drynpu.views.runs import View
from drynpu_pages.perfetto import perfetto_trace, window_of
from drynpu_pages.tracks import timeline_index

Read = Callable[[bytes], Any]


def written(*profiles: Profile, around: tuple[int, int] | None = None, most: int = 10**6) -> bytes:
    window = window_of([timeline_index(each) for each in profiles], around, most=most)
    return b"".join(perfetto_trace({f"rank {number}": each for number, each in enumerate(profiles)}, window))


def test_every_event_of_a_run_is_there_with_its_times(read_trace: Read, view: View) -> None:
    whole = view.rank.profile
    trace, index = read_trace(written(whole)), timeline_index(whole)
    expected = sorted(
        (track.names.texts[code], track.names.kinds[code], start, end)
        for track in index.tracks
        for lane in track.lanes
        for code, start, end in zip(lane.code.tolist(), lane.start_ns.tolist(), lane.end_ns.tolist(), strict=True)
    )
    assert sorted((each["name"], each["kind"], each["start"], each["end"]) for each in trace.events) == expected


def test_counters_are_what_was_sampled_and_begin_with_the_window(read_trace: Read) -> None:
    """Memory comes from the allocator's totals; everything else from the layers of the toolkit, as they name it."""
    allocations = [
        {"time_ns": time, "size_bytes": 64, "total_allocated_bytes": total, "device_type": 20, "action": 0}
        for time, total in ((50, 64), (320, 128), (900, 192))
    ]
    changes = [{"device_id": 0, "time_ns": time, "mhz": mhz} for time, mhz in ((290, 800), (350, 1_800))]
    whole = make_profile(tasks=profile().tasks.to_dicts(), allocations=allocations, frequencies=changes)
    trace = read_trace(written(whole))
    assert trace.counters["rank 0/Memory/PTA allocated"] == [(300, 64.0), (320, 128.0)]
    assert trace.counters["rank 0/Rates and loads/AI Core Freq"] == [(300, 800.0), (350, 1_800.0)]


def test_sections_and_depths(read_trace: Read) -> None:
    trace = read_trace(written(profile()))
    assert trace.named("MatMulV2", "Streams")["track"] == "rank 0/Streams/stream 2"
    depths = {each["name"]: each["depth"] for each in trace.events if "Host operators" in each["track"]}
    assert depths == {"ProfilerStep#4": 0, "aten::linear": 1, "aten::addmm": 2, "aten::add": 1}


def test_events_that_overlap_stay_whole(read_trace: Read) -> None:
    """A viewer ends the last that began: two that overlap on a stream need a track each."""
    tasks = [kernel("MatMulV2", 300, 90, 2, 1), kernel("Add", 350, 90, 2, 2)]
    trace = read_trace(written(make_profile(tasks=tasks)))
    assert {each["name"]: (each["start"], each["end"]) for each in trace.events if "stream" in each["track"]} == {
        "MatMulV2": (300, 390),
        "Add": (350, 440),
    }


def test_one_ends_when_the_next_begins_and_an_instant_lies_between(read_trace: Read) -> None:
    operators = [
        host_op("a", 0, 10),
        host_op("b", 10, 20),
        host_op("outer", 20, 40),
        host_op("inner", 20, 40),
        host_op("now", 40, 40),
    ]
    trace = read_trace(written(make_profile(host_ops=operators)))
    found = [(each["name"], each["start"], each["end"], each["depth"]) for each in trace.events]
    assert sorted(found) == [
        ("a", 0, 10, 0),
        ("b", 10, 20, 0),
        ("inner", 20, 40, 1),
        ("now", 40, 40, 0),
        ("outer", 20, 40, 0),
    ]


def test_arrows_lead_from_the_operator_through_queue_and_call_to_the_kernel(read_trace: Read) -> None:
    whole = profile()
    queue = [
        {"correlation_id": 7, "side": "enqueue", "name": "put", "tid": 1, "start_ns": 140, "end_ns": 145},
        {"correlation_id": 7, "side": "dequeue", "name": "take", "tid": 9, "start_ns": 190, "end_ns": 225},
    ]
    calls = [{**row, "tid": 9} if row["connection_id"] == 1 else row for row in whole.api.to_dicts()]
    names = ("name", "start_ns", "end_ns", "tid")
    operators = [{key: row[key] for key in names} for row in whole.host_ops.to_dicts()]
    queued = make_profile(
        host_ops=operators, api=calls, tasks=whole.tasks.to_dicts(), kernels=whole.kernels.to_dicts(), queue=queue
    )
    trace = read_trace(written(queued))
    way = trace.way(trace.named("MatMulV2", "Streams"))
    assert way == ["aten::addmm", "put", "take", "launch MatMulV2", "MatMulV2"]
    assert trace.way(trace.named("Add", "Streams")) == ["launch Add", "Add"], "its call lies in no entry of the queue"
    plain = read_trace(written(whole))
    assert plain.way(plain.named("Add", "Streams")) == ["aten::add", "launch Add", "Add"]


def test_arrows_begin_at_the_event_of_mindspore_that_launched(read_trace: Read) -> None:
    """Two events have one name, two one thread and two one start; one alone has all three."""
    launch = "PynativeFramework::KernelLaunch::Mul"
    events = [(launch, 7, 90, 120), (launch, 8, 150, 400), (launch, 7, 200, 400), ("Other", 7, 200, 210)]
    whole = make_profile(
        framework_events=[
            {"name": name, "tid": tid, "start_ns": start, "end_ns": end} for name, tid, start, end in events
        ],
        api=[{**call(1, "Mul", 220), "tid": 7}, {**call(2, "hcom", 230), "tid": 8}],
        tasks=[kernel("Mul", 500, 10, 2, 1)],
        communication_ops=[{"name": "hcom_allReduce__1", "connection_id": 2, "start_ns": 500, "duration_ns": 30}],
    )
    trace = read_trace(written(whole))
    on_arrow = set(trace.named("Mul", "Streams")["arrows"])
    starts = [each["start"] for each in trace.events if set(each["arrows"]) & on_arrow]
    assert starts == [200, 220, 500]
    assert trace.way(trace.named("hcom_allReduce__1")) == [launch, "launch hcom", "hcom_allReduce__1"]


def test_a_collective_is_one_over_all_ranks(read_trace: Read) -> None:
    def rank(start: int) -> Profile:
        names = ("hcom_allReduce__1", "hcom_allReduce__1", "hcom_allGather__2")
        operations = [
            {"name": name, "group": "g", "start_ns": start + 100 * number, "duration_ns": 30}
            for number, name in enumerate(names)
        ]
        return make_profile(communication_ops=operations, tasks=[kernel("Add", start, 5, 2, 1)])

    trace = read_trace(written(rank(1_000), rank(1_010)))
    for name, starts in (("hcom_allGather__2", [1_200, 1_210]), ("hcom_allReduce__1", [1_000, 1_010])):
        first = next(each for each in trace.events if each["name"] == name and each["track"].startswith("rank 0"))
        joint = [each for each in trace.events if set(each["arrows"]) & set(first["arrows"])]
        assert [each["start"] for each in joint] == starts
    kernels = [each for each in trace.events if each["name"] == "Add"]
    assert not set(kernels[0]["arrows"]) & set(kernels[1]["arrows"])


def test_arguments_are_what_the_tables_know(read_trace: Read) -> None:
    whole = profile()
    kernels = whole.kernels.to_dicts()
    kernels[0] |= {"input_shapes": "2,3;3,4", "block_num": 24}
    shaped = make_profile(tasks=whole.tasks.to_dicts(), kernels=kernels)
    trace = read_trace(written(shaped))
    arguments = trace.named("MatMulV2")["arguments"]
    assert arguments["input shapes"] == "2,3;3,4"
    assert arguments["block num"] == 24
    assert "input shapes" not in trace.named("Add")["arguments"]
    assert trace.named("MEMCPY_ASYNC")["arguments"]["copy (bytes)"] == 64


def test_a_window_has_what_lies_in_it_or_reaches_into_it(read_trace: Read) -> None:
    trace = read_trace(written(profile(), around=(300, 301), most=9))
    assert "MatMulV2" in {each["name"] for each in trace.events}
    assert len(trace.events) <= 9 < timeline_index(profile()).events


def test_the_exporter_writes_a_file_for_each_rank(read_trace: Read, view: View, tmp_path: Path) -> None:
    exporter = from_plugins(all_exporters)["perfetto"]
    (file,) = exporter(view.rank.profile, tmp_path / "out")
    assert file.name == "timeline.pftrace"
    assert len(read_trace(file.read_bytes()).events) == timeline_index(view.rank.profile).events
