"""Tables become tracks: every row is an event of one track, found again by its place in the table."""

from __future__ import annotations

from tests.core.analysis.conftest import host_op, make_profile

from drynpu.tables import NO_CONTEXT, Profile
from drynpu_pages.tracks import TimelineIndex, TrackKind, timeline_index

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


def events(index: TimelineIndex, kind: TrackKind) -> list[tuple[str, int, int]]:
    """Return the name, start and end of all events of a kind."""
    return [
        (track.names.texts[code], start, end)
        for track in index.tracks
        if track.kind is kind
        for lane in track.lanes
        for code, start, end in zip(lane.code.tolist(), lane.start_ns.tolist(), lane.end_ns.tolist(), strict=True)
    ]


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
    assert ("MEMCPY_ASYNC", 430, 435) in events(index, TrackKind.STREAMS)
    assert ("launch MatMulV2", 200, 220) in events(index, TrackKind.CALLS)


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
    assert ("two", 10, 60) in events(index, TrackKind.COMMUNICATION)


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
