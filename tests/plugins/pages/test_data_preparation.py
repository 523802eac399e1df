"""Waits for data, queues and the pipeline, by numbers that can be worked out by hand."""

from __future__ import annotations

import pytest
from tests.core.analysis.conftest import host_op, make_profile

from drynpu.products.mindspore._minddata import pipeline_raw_table
from drynpu.tables import Profile
from drynpu_pages.data_preparation import (
    DEVICE_QUEUE,
    HOST_QUEUE,
    loader_waits,
    pipeline_queues,
    queue_records,
    queue_status,
    suspect_operators,
)

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"


def test_waits_belong_to_the_step_in_which_they_begin() -> None:
    profile = make_profile(
        host_ops=[
            host_op("ProfilerStep#4", 100, 200),
            host_op(LOADER, 110, 140),
            host_op(LOADER, 150, 155),
            host_op("ProfilerStep#5", 210, 260),
            host_op("ProfilerStep#6", 300, 400),
            host_op(LOADER, 390, 399),
            host_op(LOADER, 400, 403),  # at the last instant
            host_op(LOADER, 401, 470),  # after the last step
        ]
    )
    assert loader_waits(profile).rows() == [("4", 2, 35, 100), ("5", 0, 0, 50), ("6", 2, 12, 100)]


def test_waits_without_steps_count_for_the_whole() -> None:
    profile = make_profile(host_ops=[host_op(LOADER, 10, 30), host_op("aten::mm", 40, 90), host_op(LOADER, 95, 97)])
    assert loader_waits(profile).rows() == [("", 2, 22, 87)]
    assert loader_waits(make_profile(host_ops=[host_op("aten::mm", 1, 2)])).is_empty()


def pipeline_times(sizes: list[int], capacity: int = 8) -> list[dict[str, object]]:
    rows = [{"record": 1, "part": capacity, "batch": i, "value": size} for i, size in enumerate(sizes, start=1)]
    return rows + [{"record": 0, "part": 0, "batch": i, "value": 3 * i} for i in range(1, len(sizes) + 1)]


def waits(sizes: list[int | None]) -> list[dict[str, object]]:
    return [{"start_us": 100 * i, "end_us": 100 * i + 7 + i, "queue_size": size} for i, size in enumerate(sizes)]


def test_queues_of_host_and_device() -> None:
    profile = make_profile(pipeline_times=pipeline_times([0, 5]), queue_waits=waits([2, None]))
    assert queue_records(profile).rows() == [
        (HOST_QUEUE, 1, 0, 8, 3_000_000),
        (HOST_QUEUE, 2, 5, 8, 6_000_000),
        (DEVICE_QUEUE, 1, 2, None, 7_000),
        (DEVICE_QUEUE, 2, None, None, 8_000),
    ]


@pytest.mark.parametrize(
    ("host", "device", "suspect"),
    [
        ([0, 0, 1, 1, 1, 1], [1, 1], "data processing"),  # 2 of 6 are more than 0.3
        ([0, 0, 0, 1, 1, 1, 1, 1, 1, 1], [1, 0], "data transmission"),  # 3 of 10 are not
        ([4, 4], [1, 0], "data transmission"),
        ([4, 4], [1, 2], "host queue"),
        ([4, 4], [], None),
        ([0, 4], [], "data processing"),
        ([4, 4], [None], None),
    ],
)
def test_rules_of_the_queues(host: list[int], device: list[int | None], suspect: str | None) -> None:
    profile = make_profile(pipeline_times=pipeline_times(host), queue_waits=waits(device))
    found = [name for name, holds in queue_status(queue_records(profile)).items() if holds]
    assert found == ([] if suspect is None else [suspect])


def test_a_device_alone_is_not_judged() -> None:
    assert not queue_status(queue_records(make_profile(queue_waits=waits([0, 0, 1]))))


def pipeline(*queues: list[int] | None, length: int = 10) -> Profile:
    """A chain: operator 0 feeds the training, the last one reads."""
    last = len(queues) - 1
    return make_profile(
        pipeline_ops=[
            {"op_id": i, "op_type": f"Kind{i}Op", "num_workers": i + 1, "children": [i + 1] if i < last else None,
             "queue_sizes": sizes, "queue_length": None if sizes is None else length, "sample_interval": 20,
             "cpu_pct": [2.0 * i, 4.0 * i]}
            for i, sizes in enumerate(queues)
        ]
    )  # fmt: skip


def test_usage_of_the_pipeline_is_that_of_the_file() -> None:
    profile = pipeline(None, [0, 3, 6], [9, 9, 3])
    rows = pipeline_queues(profile).to_dicts()
    for row, cells in zip(rows, pipeline_raw_table(profile).iter_rows(named=True), strict=True):
        assert str(row["op_id"]) == cells["op_id"]
        assert f"{row['name']}Op" == cells["op_type"]
        assert str(row["workers"]) == cells["num_workers"]
        if row["usage"] is None:
            assert cells["output_queue_usage_rate"] == ""
        else:
            assert row["usage"] == pytest.approx(float(cells["output_queue_usage_rate"]))
            assert row["average_size"] == pytest.approx(float(cells["output_queue_average_size"]))
    assert [row["parent_id"] for row in rows] == [None, 0, 1]
    assert [row["empty"] for row in rows] == [None, pytest.approx(1 / 3), 0.0]
    assert [row["cpu_pct"] for row in rows] == [0.0, 3.0, 6.0]


def test_a_queue_without_room_or_samples_has_no_usage() -> None:
    rows = pipeline_queues(pipeline(None, [0, 0], [], length=0)).to_dicts()
    assert [row["usage"] for row in rows] == [None] * 3
    assert [row["average_size"] for row in rows] == [None, 0.0, None]
    assert [row["empty"] for row in rows] == [None, 1.0, None]


@pytest.mark.parametrize(
    ("queues", "suspects"),
    [
        ((None, [8, 9], [10, 10]), [0]),  # all filled: whoever takes is slow
        ((None, [1, 3], [9, 9]), [1]),  # filled before and not behind
        ((None, [1, 1], [2, 2]), [2]),  # what reads is slow; 0.1 more is not too much
        ((None, [5, 5], [7, 7]), [1]),
        ((None, [6, 6], [6, 6]), []),  # the leaf is used as much as it has to be
        ((None, [8, 8], [8, 8]), [0]),  # every queue just full enough
        ((None, None), []),
    ],
)
def test_the_filter_of_operators(queues: tuple[list[int] | None, ...], suspects: list[int]) -> None:
    assert suspect_operators(pipeline_queues(pipeline(*queues))) == suspects
