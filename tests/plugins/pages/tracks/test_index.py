"""Tables become tracks: every row is an event of one track, found again by its place in the table."""

from __future__ import annotations

from typing import Any

from tests.core.analysis.conftest import host_op, make_profile

from drynpu.tables import NO_CONTEXT, Profile
from drynpu_pages.tracks import Spot, TimelineIndex, TrackKind, find_events, launches_of, timeline_index

PLACE = ("device_id", "stream_id", "task_id", "context_id", "start_ns", "duration_ns", "connection_id")


def kernel(name: str, start: int, duration: int, stream: int, connection: int, device: int = 0) -> dict[str, object]:
    return {
        "device_id": device, "stream_id": stream, "task_id": connection, "context_id": NO_CONTEXT,
        "start_ns": start, "duration_ns": duration, "connection_id": connection,
        "kernel_name": name, "kernel_type": "AI_CORE" if "Mat" in name else "AI_VECTOR_CORE",
    }  # fmt: skip


def profile() -> Profile:
    """One step with a product and an addition; the addition and a copy run on a second stream."""
    tasks = [
        kernel("MatMulV2", 300, 90, 2, 1),
        kernel("Add", 410, 10, 3, 2),
        {**kernel("", 430, 5, 3, -1), "kernel_type": "MEMCPY_ASYNC", "copy_bytes": 64},
    ]
    kernels = [
        {key: task[key] for key in PLACE}
        | {"name": task["kernel_name"], "op_type": task["kernel_name"], "task_type": task["kernel_type"]}
        for task in tasks[:2]
    ]
    calls = [call(1, "MatMulV2", 200), call(2, "Add", 300)]
    operators = [
        host_op("ProfilerStep#4", 100, 600),
        host_op("aten::linear", 120, 240),
        host_op("aten::addmm", 130, 230),
        host_op("aten::add", 250, 330),
    ]
    return make_profile(host_ops=operators, api=calls, tasks=tasks, kernels=kernels)


def call(connection: int, item: str, start: int) -> dict[str, object]:
    names = {"level": "node", "name": "launch", "item": item}
    return {**names, "connection_id": connection, "tid": 1, "start_ns": start, "end_ns": start + 20}


def titles(index: TimelineIndex, kind: TrackKind) -> dict[str, int]:
    return {track.title: track.events for track in index.tracks if track.kind is kind}


def spot(index: TimelineIndex, name: str, kind: TrackKind) -> Spot:
    numbers = [number for number, track in enumerate(index.tracks) if track.kind is kind]
    hits = find_events(index, numbers, name)
    assert len(hits) == 1
    return hits.spot(0)


def test_each_stream_thread_and_step_is_a_track() -> None:
    index = timeline_index(profile())
    assert titles(index, TrackKind.STREAMS) == {"stream 2": 1, "stream 3": 2}
    assert titles(index, TrackKind.OPERATORS) == {"thread 1": 4}
    assert titles(index, TrackKind.CALLS) == {"thread 1": 2}
    assert titles(index, TrackKind.STEPS) == {"steps on the host": 1, "steps on the device": 1}
    assert index.steps == {"4": (100, 600)}
    assert (index.start_ns, index.end_ns) == (100, 600)


def test_kinds_of_tracks_stand_in_their_order() -> None:
    kinds = [track.kind for track in timeline_index(profile()).tracks]
    assert kinds == sorted(kinds, key=list(TrackKind).index)


def test_operators_nest() -> None:
    index = timeline_index(profile())
    (thread,) = (track for track in index.tracks if track.kind is TrackKind.OPERATORS)
    names = [[thread.names.texts[code] for code in lane.code] for lane in thread.lanes]
    assert names == [["ProfilerStep#4"], ["aten::linear", "aten::add"], ["aten::addmm"]]


def test_a_task_without_a_name_has_that_of_its_type_and_a_call_says_what_it_is_for() -> None:
    index = timeline_index(profile())
    copy = spot(index, "memcpy", TrackKind.STREAMS)
    assert index.name(copy) == "MEMCPY_ASYNC"
    assert index.times(copy) == (430, 435)
    assert index.name(spot(index, "matmul", TrackKind.CALLS)) == "launch MatMulV2"


def test_events_are_found_by_their_rows() -> None:
    index = timeline_index(profile())
    found = index.spot_of("tasks", 1, 410)
    assert found is not None
    assert index.name(found) == "Add"
    assert index.spot_of("tasks", 0, 410) is None
    assert index.spot_of("kernels", 1, 410) is None
    assert not index.holds(Spot(0, 0, 99))
    assert not index.holds(Spot(-1, 0, 0))
    assert index.holds(found)
    assert index.holds(Spot(0, 0, 0))
    assert not index.holds(Spot(0, -1, 0))
    assert not index.holds(Spot(0, 0, -1))
    assert not index.holds(Spot(len(index.tracks), 0, 0))
    assert not index.holds(Spot(0, len(index.tracks[0].lanes), 0))


def test_a_kernel_leads_back_to_its_operator_and_its_call() -> None:
    whole = profile()
    index = timeline_index(whole)
    before = launches_of(whole, index, spot(index, "MatMulV2", TrackKind.STREAMS)).before
    assert [index.name(each) for each in before] == ["aten::addmm", "launch MatMulV2"]


def test_an_operator_leads_to_the_kernels_of_itself_and_of_those_below_it() -> None:
    whole = profile()
    index = timeline_index(whole)
    for operator, kernels in (("linear", ["MatMulV2"]), ("addmm", ["MatMulV2"]), ("ProfilerStep", ["MatMulV2", "Add"])):
        found = launches_of(whole, index, spot(index, operator, TrackKind.OPERATORS))
        assert [index.name(each) for each in found.after] == kernels
        assert found.count == len(kernels)
    call = spot(index, "launch Add", TrackKind.CALLS)
    assert [index.name(each) for each in launches_of(whole, index, call).after] == ["Add"]


def test_the_task_queue_stands_between() -> None:
    whole = profile()
    queue = [
        {"correlation_id": 7, "side": "enqueue", "name": "aclnnMm", "tid": 1, "start_ns": 140, "end_ns": 145},
        {"correlation_id": 7, "side": "dequeue", "name": "aclnnMm", "tid": 9, "start_ns": 190, "end_ns": 225},
    ]
    calls = [dict(row) for row in whole.api.to_dicts()]
    calls[0]["tid"] = 9
    queued = make_profile(
        host_ops=[
            {key: row[key] for key in ("name", "start_ns", "end_ns", "tid")} for row in whole.host_ops.to_dicts()
        ],
        api=calls,
        tasks=whole.tasks.to_dicts(),
        kernels=whole.kernels.to_dicts(),
        queue=queue,
    )
    index = timeline_index(queued)
    assert titles(index, TrackKind.QUEUE) == {"enqueue, thread 1": 1, "dequeue, thread 9": 1}
    before = launches_of(queued, index, spot(index, "MatMulV2", TrackKind.STREAMS)).before
    assert [index.tracks[each.track].source for each in before] == ["host_ops", "queue", "queue", "api"]
    entry = launches_of(queued, index, before[2])
    assert [index.name(each) for each in entry.after] == ["MatMulV2"]


def test_an_event_of_mindspore_stands_between_what_it_launched_and_the_call() -> None:
    """Two events have one name, two one thread and two one start; one alone has all three."""
    launch = "PynativeFramework::KernelLaunch::Mul"
    events = [(launch, 7, 90, 120), (launch, 8, 150, 400), (launch, 7, 200, 400), ("Other", 7, 200, 210)]
    events += [(launch, 9, 200, 400)]
    whole = make_profile(
        framework_events=[
            {"name": name, "tid": tid, "start_ns": start, "end_ns": end} for name, tid, start, end in events
        ],
        api=[{**call(1, "Mul", 220), "tid": 7}, {**call(2, "hcom", 230), "tid": 8}],
        tasks=[kernel("Mul", 500, 10, 2, 1), kernel("Mul", 520, 10, 3, 1)],
        communication_ops=[{"name": "hcom_allReduce__1", "connection_id": 2, "start_ns": 500, "duration_ns": 30}],
    )
    index = timeline_index(whole)

    def times(spots: Any) -> list[tuple[str, int]]:
        return [(index.name(each), index.times(each)[0]) for each in spots]

    tasks = [number for number, track in enumerate(index.tracks) if track.kind is TrackKind.STREAMS]
    task = find_events(index, tasks[:1], "Mul").spot(0)
    before = launches_of(whole, index, task).before
    assert [index.tracks[each.track].source for each in before] == ["framework_events", "api"]
    assert times(before)[0] == (launch, 200)
    assert [(name, start) for name, start in times(launches_of(whole, index, before[0]).after)] == [
        ("Mul", 500), ("Mul", 520),
    ]  # fmt: skip
    collective = spot(index, "hcom_allReduce__1", TrackKind.COMMUNICATION)
    assert times(launches_of(whole, index, collective).before)[0] == (launch, 150)
    entry = launches_of(whole, index, launches_of(whole, index, collective).before[0])
    assert (times(entry.after), entry.count) == ([("hcom_allReduce__1", 500)], 1)


def test_groups_and_planes_of_communication_are_tracks() -> None:
    """Operators of no group stand under a plain title; each device has its own."""
    operation = {"start_ns": 10, "duration_ns": 50, "connection_id": 1}
    part = {"start_ns": 12, "duration_ns": 5, "connection_id": 1}
    operations = [("g", 0, "one"), ("", 0, "two"), ("g", 1, "three"), ("h", 1, "four")]
    parts = [("g", 0, 3), ("g", 0, 4), ("g", 0, 4), ("", 0, 0), ("only parts", 0, 1)]
    whole = make_profile(
        device_ids=(0, 1),
        communication_ops=[
            {**operation, "group": group, "device_id": device, "name": name} for group, device, name in operations
        ],
        communication_tasks=[
            {**part, "group": group, "device_id": device, "plane_id": plane, "name": "Memcpy"}
            for group, device, plane in parts
        ],
    )
    index = timeline_index(whole)
    found = [
        (track.title, track.source, track.events, track.device_id)
        for track in index.tracks
        if track.kind is TrackKind.COMMUNICATION
    ]
    assert found == [
        ("device 0, communication", "communication_ops", 1, 0),
        ("device 0, plane 0", "communication_tasks", 1, 0),
        ("device 0, group g", "communication_ops", 1, 0),
        ("device 0, plane 3", "communication_tasks", 1, 0),
        ("device 0, plane 4", "communication_tasks", 2, 0),
        ("device 0, plane 1", "communication_tasks", 1, 0),
        ("device 1, group g", "communication_ops", 1, 1),
        ("device 1, group h", "communication_ops", 1, 1),
    ]
    two = spot(index, "two", TrackKind.COMMUNICATION)
    assert index.times(two) == (10, 60)


def test_devices_have_tracks_of_their_own() -> None:
    whole = make_profile(
        device_ids=(0, 1), tasks=[kernel("MatMulV2", 10, 5, 2, 1), kernel("Add", 12, 7, 2, 2, device=1)]
    )
    index = timeline_index(whole)
    assert titles(index, TrackKind.STREAMS) == {"device 0, stream 2": 1, "device 1, stream 2": 1}
    assert [track.device_id for track in index.tracks if track.kind is TrackKind.STREAMS] == [0, 1]


def test_python_calls_become_frames_and_an_empty_profile_has_nothing() -> None:
    calls = [
        {"time_ns": 5, "tid": 1, "name": "train.py(3): main", "tag": 0},
        {"time_ns": 8, "tid": 1, "name": "<built-in len>", "tag": 2},
        {"time_ns": 9, "tid": 1, "name": "<built-in len>", "tag": 3},
        {"time_ns": 20, "tid": 1, "name": "train.py(3): main", "tag": 1},
    ]
    (track,) = timeline_index(make_profile(python_calls=calls)).tracks
    assert [lane.end_ns.tolist() for lane in track.lanes] == [[20], [9]]
    empty = timeline_index(make_profile())
    assert (empty.events, empty.start_ns, empty.end_ns) == (0, 0, 0)
