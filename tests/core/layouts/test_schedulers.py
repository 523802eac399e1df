"""
Records of the schedulers: bytes from the vendor's formats, and the tasks that come back from them.

Formats come from Ascend/msprof ``analysis/msparser/data_struct_size_constant.py``, numbers of task types from
``analysis/msmodel/sqe_type_map.py``, places from ``analysis/profiling_bean/struct_info/hwts_log.py`` and
``analysis/profiling_bean/stars/acsq_task_v6.py``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from attrs import evolve

from drynpu.deliverables.tasks.task_forms import MIXED, TaskRuns, flip_records, task_ids, task_records, with_flips
from drynpu.kernels import TaskType
from drynpu.layouts import schedulers as facts
from drynpu.layouts import tasks as facts_of_tasks
from drynpu.layouts.schedulers import SqeType
from drynpu.platforms import find_platform
from drynpu.raw import RecordKind
from drynpu.raw._record_bytes import record_bytes
from drynpu.tables.device import pair_tasks
from drynpu.tables.launches import launch_records
from drynpu.tables.task_events import task_events

HWTS_FMT, V6_FMT = "<BBHHHQ12I", "<4HQHH3I"
"""Their ``L`` has four bytes, as everywhere in that file."""


def runs(sqe: SqeType, *, task: int = 5, batch: int = 0, sub_task: int = 0) -> TaskRuns:
    """One task on stream 3 from tick 1000 to 1250."""
    return TaskRuns(
        stream=np.array([3]),
        task_id=np.array([task], np.uint16),
        batch_id=np.array([batch], np.uint16),
        start=np.array([1000]),
        end=np.array([1250]),
        sqe=np.array([int(sqe)]),
        sub_task=np.array([sub_task]),
    )


def test_hwts_bytes(pack: Callable[..., bytes]) -> None:
    assert struct.calcsize(HWTS_FMT) == 64
    found = pack(facts.HWTS, tag=0x71, sqe_type=2, task_id=0x0102, tick=77, stream_id=3)
    assert found == struct.pack(HWTS_FMT, 0x71, 2, 0x6BD3, 0, 0x0102, 77, 3, *[0] * 11)


def test_bytes_of_the_950(pack: Callable[..., bytes]) -> None:
    assert struct.calcsize(V6_FMT) == 32
    # Function 1, counter 5, type 1; the low half of the id stands where the stream was.
    found = pack(facts.STARS_SOC_V6, header=0x0541, task_id=0x0001_0002, tick=77)
    assert found == struct.pack(V6_FMT, 0x0541, 0x6BD3, 2, 1, 77, 0, 0, 0, 0, 0)


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.HWTS.dtype, HWTS_FMT)
    # Its task id covers the two numbers that were stream and task: "4 u32 task id" (cann_msprof.md 7.4).
    assert fits(facts.STARS_SOC_V6.dtype, "<HHIQHH3I")
    assert fits(facts.TS_TRACK_STATE.dtype, STATE_FMT)


def test_a_tag_of_hwts_is_three_bits_and_a_number_of_four() -> None:
    """hwts_log.py: ``args[0] & 7`` is 0 at a start and 1 at an end, ``args[0] >> 4`` counts."""
    assert facts.HWTS.running == ("tag", 4)
    assert facts.HWTS_TAG_MASK == 0b111
    end, start = (struct.pack(HWTS_FMT, 0x50 | tag, 0, 0x6BD3, 0, 5, 1000 + tag, 3, *[0] * 11) for tag in (1, 0))
    # Bit 3 is neither: a record that has it in its tag counts by the three bits alone.
    later = struct.pack(HWTS_FMT, 0x60 | 8, 0, 0x6BD3, 0, 6, 2000, 3, *[0] * 11)
    other = struct.pack(HWTS_FMT, 0x70 | 2, 0, 0x6BD3, 0, 7, 3000, 3, *[0] * 11)
    records = np.frombuffer(start + end + later + other, facts.HWTS.dtype)
    events = task_events(lambda _: [records], find_platform("4"), lambda ids: ids)
    assert list(zip(events.task.tolist(), events.is_end.tolist(), strict=True)) == [(5, False), (5, True), (6, False)]


def test_sub_tasks_on_both_kinds_of_core() -> None:
    """
    cann_msprof.md 7.5.2: "sub-task id 0, sub-task type 6/7, fftsType 4".

    ``SUBTASK_TYPE`` and ``FFTS_TYPE`` of stars_constant.py, ``filed[7] >> 13`` of ffts_plus_log.py.
    """
    found = task_records(runs(SqeType.AI_CORE, sub_task=MIXED[TaskType.MIX_AIV]), find_platform("5"))["stars_soc"]
    sub_tasks = [struct.unpack_from("<HHHHQBxHHH", row.tobytes()) for row in found[2:]]
    assert sub_tasks == [
        (0x0022, 0x6BD3, 3, 5, 1000, 7, 0, 4 << 13, 0),
        (0x0023, 0x6BD3, 3, 5, 1250, 7, 0, 4 << 13, 0),
    ]
    assert MIXED == {TaskType.MIX_AIC: 6, TaskType.MIX_AIV: 7}


def test_types_of_the_task_scheduler() -> None:
    """
    The beginnings of names in TASK_TYPE_MAPPING (analysis/common_func/ms_constant/str_constant.py):

    "kernel AI core", "kernel AI cpu", "event record", "stream wait event", 5 "memory copy", 14 "notify wait",
    "notify record".
    """
    names = {"AI_CORE": 0, "AI_CPU": 1, "EVENT_RECORD": 2, "STREAM_WAIT_EVENT": 3, "MEMCPY_ASYNC": 5}
    names |= {"NOTIFY_WAIT": 14, "NOTIFY_RECORD": 15}
    assert {kind.name: int(kind) for kind in facts.TsTaskType} == names


STATE_FMT = "<BBHIHHHHQII"


def test_states_of_the_310() -> None:
    """
    ``TIME_LINE_FMT`` BBHLHHHHQLL of data_struct_size_constant.py, places of struct_info/ts_time_line.py.

    Tag 3 of create_runtime_db.py, states 2 RUNNING and 3 COMPLETE of viewer/calculate_rts_data.py.
    """
    assert struct.calcsize(STATE_FMT) == 32
    platform = find_platform("0")
    found = task_records(runs(SqeType.PCIE_DMA), platform)
    assert list(found) == ["ts_track_state"]
    rows = found["ts_track_state"]
    assert record_bytes(facts.TS_TRACK_STATE, rows, 0) == b"".join(
        struct.pack(STATE_FMT, 0, 3, 32, 0, 5, state, 3, 5, tick, 0, 0) for state, tick in ((2, 1000), (3, 1250))
    )
    tasks = pair_tasks(task_events(lambda _: [rows], platform, lambda ids: ids))
    assert (tasks.stream_id.tolist(), tasks.task_id.tolist(), tasks.sqe_type.tolist()) == ([3], [5], [SqeType.SDMA])
    assert (tasks.start_tick.tolist(), tasks.end_tick.tolist()) == ([1000], [1250])


def test_the_310_has_no_tag_for_ids_that_begin_again() -> None:
    """The reader of create_runtime_db.py leaves the file at a tag beside 0, 3, 4 and 6 to 11."""
    assert not len(flip_records(runs(SqeType.AI_CORE, task=1, batch=1), find_platform("0")))
    assert len(flip_records(runs(SqeType.AI_CORE, task=1, batch=1), find_platform("4"))) == 1


def test_types_of_hwts() -> None:
    assert {kind.name: number for kind, number in facts.HWTS_TYPES.items()} == {
        "AI_CORE": 0,
        "AI_CPU": 1,
        "AIV": 2,
        "PLACE_HOLDER": 3,
        "EVENT_RECORD": 4,
        "EVENT_WAIT": 5,
        "NOTIFY_RECORD": 6,
        "NOTIFY_WAIT": 7,
        "WRITE_VALUE": 8,
        "SDMA": 9,
    }


def test_types_of_the_950() -> None:
    names = "AI_CORE AIV FUSION PLACE_HOLDER AICPU_H AICPU_D NOTIFY_RECORD NOTIFY_WAIT WRITE_VALUE UBDMA ASYNCDMA SDMA "
    names += "VPC JPEGE JPEGD CMO CCU"
    numbers = {name: at for at, name in enumerate(names.split())} | {"CONDITION": 20, "END": 21}
    assert {kind.name: number for kind, number in facts.V6_TYPES.items()} == numbers


@pytest.mark.parametrize(
    ("platform", "sqe", "kind", "first"),
    [
        ("1", SqeType.AI_CORE, facts.HWTS, (0, 0, 0x6BD3, 0, 5, 1000, 3)),
        ("1", SqeType.PCIE_DMA, facts.HWTS, (0, 9, 0x6BD3, 0, 5, 1000, 3)),
        ("4", SqeType.AI_CPU, facts.HWTS, (0, 1, 0x6BD3, 0, 5, 1000, 3)),
        ("5", SqeType.PCIE_DMA, facts.STARS_SOC, (17 << 10, 0x6BD3, 3, 5, 1000)),
        ("15", SqeType.AIV, facts.STARS_SOC_V6, (1 << 10, 0x6BD3, 5, 0, 1000)),
        ("15", SqeType.AI_CPU, facts.STARS_SOC_V6, (5 << 10, 0x6BD3, 5, 0, 1000)),
        ("15", SqeType.PCIE_DMA, facts.STARS_SOC_V6, (10 << 10, 0x6BD3, 5, 0, 1000)),
    ],
)
def test_every_platform_writes_what_its_parser_opens(
    platform: str, sqe: SqeType, kind: RecordKind, first: tuple[int, ...]
) -> None:
    found = task_records(runs(sqe), find_platform(platform))
    (records,) = (rows for rows in found.values() if len(rows))
    assert records.dtype == kind.dtype
    text = {facts.HWTS: "<BBHHHQI", facts.STARS_SOC: "<4HQ", facts.STARS_SOC_V6: "<4HQ"}[kind]
    assert struct.unpack_from(text, record_bytes(kind, records, 0)) == first


def test_the_task_scheduler_reports_the_ai_cpu_of_the_910() -> None:
    found = task_records(runs(SqeType.AI_CPU), find_platform("1"))
    assert not len(found["hwts"])
    # TASK_TYPE is stream, task, type 1 for the AI CPU, state 1 started and 2 ended.
    text = "<BBH4xQHHHB17x"
    start, end = (struct.unpack(text, row.tobytes()) for row in found["ts_track_task_type"])
    assert start == (0, 0x0C, 40, 1000, 3, 5, 1, 1)
    assert end == (0, 0x0C, 40, 1250, 3, 5, 1, 2)


@pytest.mark.parametrize("platform", ["1", "4", "5", "15"])
@pytest.mark.parametrize("sqe", [SqeType.AI_CORE, SqeType.AI_CPU, SqeType.NOTIFY_WAIT])
def test_what_was_written_is_read(platform: str, sqe: SqeType) -> None:
    shape = find_platform(platform)
    written = task_records(runs(sqe), shape)
    kinds = {kind.name: kind for kind in facts.KINDS}
    events = task_events(
        lambda name: [written.get(name, kinds[name].new(0))], shape, lambda ids: np.where(ids == 5, 3, 65_535)
    )
    tasks = pair_tasks(events)
    read = tasks.stream_id, tasks.task_id, tasks.start_tick, tasks.end_tick
    assert [column.tolist() for column in read] == [[3], [5], [1000], [1250]]
    shown = SqeType.AICPU_D if (platform, sqe) == ("15", SqeType.AI_CPU) else sqe
    assert tasks.sqe_type.tolist() == [int(shown)]


def test_ids_are_of_the_stream_or_of_the_device() -> None:
    streams = np.array([2, 3, 2])
    assert [part.tolist() for part in task_ids(streams, find_platform("5"))] == [[0, 0, 1], [0, 0, 0]]
    assert [part.tolist() for part in task_ids(streams, find_platform("15"), before=65_535)] == [
        [65_535, 0, 1],
        [0, 1, 1],
    ]


def test_only_ids_of_streams_begin_again() -> None:
    again = runs(SqeType.AI_CORE, task=1, batch=1)
    (flip,) = flip_records(again, find_platform("5"))
    assert [int(flip[name]) for name in ("flip_number", "task_id", "stream_id", "tick")] == [1, 0, 3, 999]
    assert not len(flip_records(again, find_platform("15")))
    assert not len(flip_records(runs(SqeType.AI_CORE, task=1, batch=0), find_platform("5")))


def test_flips_lie_between_the_tasks_around_them() -> None:
    """
    Where a flip and a task have one time, ``FlipCalculator.compute_batch_id`` (>=) counts the task to the new batch and
    ``ModelingComputeBatchIdBinaryAlgo`` (<=) to the old one.
    """
    pair = TaskRuns(
        stream=np.array([3, 3, 4]),
        task_id=np.array([65_535, 1, 1], np.uint16),
        batch_id=np.array([0, 1, 1], np.uint16),
        start=np.array([1000, 1100, 1090]),
        end=np.array([1100, 1200, 1190]),
        sqe=np.zeros(3, np.int64),
        sub_task=np.zeros(3, np.int64),
    )
    flips = flip_records(pair.take(np.array([True, True, False])), find_platform("5"))
    assert flips["tick"].tolist() == [1050]
    assert flip_records(pair, find_platform("5"))["tick"].tolist() == [1050, 1089]
    later = evolve(pair, stream=np.full(3, 3), task_id=np.array([65_534, 65_535, 1], np.uint16), batch_id=pair.batch_id)
    later = evolve(later, batch_id=np.array([0, 0, 1]), start=np.array([700, 1000, 1100]))
    assert flip_records(later, find_platform("5"))["tick"].tolist() == [1050], "the task right before it counts"


def test_a_flip_takes_the_zero_of_its_batch() -> None:
    task, batch = task_ids(np.full(3 * 65_536, 2), find_platform("5"))
    at = [0, 65_535, 65_536, 65_537, 131_070, 131_071, 131_072]
    found = list(zip(task[at].tolist(), batch[at].tolist(), strict=True))
    assert found == [(0, 0), (65_535, 0), (1, 1), (2, 1), (65_535, 1), (1, 2), (2, 2)]
    by_number, _ = task_ids(np.full(65_537, 2), find_platform("0"))
    assert by_number[[65_535, 65_536]].tolist() == [65_535, 0]


def test_the_host_tells_of_flips_before_the_launches_that_follow_them() -> None:
    track = facts_of_tasks.TASK_TRACK.new(3)
    track["timestamp"], track["thread_id"], track["device_id"], track["stream_id"] = [10, 20, 30], 77, 4, [2, 2, 3]
    track["task_id"], track["batch_id"], track["kernel_name"] = [65_535, 1, 1], [0, 1, 0], 5
    numbers = {"FLIP_TASK": 98}
    records = with_flips(track, find_platform("5"), numbers.__getitem__)
    assert records["timestamp"].tolist() == [10, 19, 20, 30]
    flip = records[1]
    values = [int(flip[name]) for name in ("task_type", "thread_id", "device_id", "stream_id", "task_id", "batch_id")]
    assert values == [98, 77, 4, 2, 0, 1]
    assert int(flip["kernel_name"]) == 0
    assert np.array_equal(launch_records(records), track)
    for platform in ("0", "15"):
        assert len(with_flips(track, find_platform(platform), numbers.__getitem__)) == 3


def test_sub_tasks_and_logs_of_blocks_are_no_tasks() -> None:
    def event(function: int, tick: int) -> bytes:
        return struct.pack(V6_FMT, function, 0x6BD3, 5, 0, tick, 0, 0, 0, 0, 0)

    data = b"".join((event(0, 10), event(0x24, 12), event(0x25, 15), event(0x16, 16), event(1, 20)))
    records = np.frombuffer(data, facts.STARS_SOC_V6.dtype)
    tasks = pair_tasks(task_events(lambda _: [records], find_platform("15"), lambda ids: np.zeros_like(ids)))
    assert (tasks.start_tick.tolist(), tasks.end_tick.tolist()) == ([10], [20])
