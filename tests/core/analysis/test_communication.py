"""Times, links and steps of collectives, worked out by hand from the rules of cann_msprof.md 4.7."""

from __future__ import annotations

import pytest

from drynpu.analysis import communication_statistic, communication_time, communication_transfers
from drynpu.tables import Profile

from .conftest import make_profile

THIS_RANK = 4294967295


def transfer(start: int, took: int, **more: object) -> dict[str, object]:
    """Return a task of the main plane that moves 7 bytes per ns from rank 0 to rank 3 over HCCS."""
    moved = {"src_rank": 0, "dst_rank": 3, "transport": "SDMA", "link": "HCCS_SW", "transfer_bytes": 7 * took}
    return {"start_ns": start, "duration_ns": took, "transfer_ns": took, "name": "Memcpy", **moved, **more}


def wait(start: int, took: int, **more: object) -> dict[str, object]:
    return {"start_ns": start, "duration_ns": took, "name": "Notify_Wait", "transport": "LOCAL", "link": "", **more}


def one_operator(*tasks: dict[str, object], took: int = 1_000) -> Profile:
    operator = {"connection_id": 5, "name": "hcom_allReduce__1", "start_ns": 10_000, "duration_ns": took}
    plain = {"connection_id": 5, "is_master": True, "transfer_ns": None, "transfer_bytes": None}
    rows = [{**plain, **row} for row in tasks]
    return make_profile(communication_ops=[operator], communication_tasks=rows)


def times(profile: Profile) -> tuple[int, ...]:
    found = communication_time(profile, communication_transfers(profile))
    columns = ["elapse_ns", "transit_ns", "wait_ns", "synchronization_ns", "idle_ns"]
    (row,) = found.select(columns).rows()
    return tuple(int(value) for value in row)


def test_the_time_of_an_operator_is_transit_wait_and_idle() -> None:
    profile = one_operator(wait(10_000, 200), transfer(10_250, 130), wait(10_400, 60), transfer(10_500, 70))
    # 200 of the waits lie before the first transfer; 1000 - (130 + 70) - (200 + 60) = 540.
    assert times(profile) == (1_000, 200, 260, 200, 540)


def test_copies_within_a_rank_and_tasks_of_other_planes_are_no_transit() -> None:
    local = transfer(10_000, 90, dst_rank=THIS_RANK, link="ON_CHIP")
    beside = transfer(10_300, 400, is_master=False, plane_id=1)
    assert times(one_operator(local, wait(10_100, 50), beside, transfer(10_600, 25))) == (1_000, 25, 50, 50, 925)


def test_waits_without_any_transfer_are_synchronisation() -> None:
    assert times(one_operator(wait(10_000, 310), wait(10_500, 20))) == (1_000, 0, 330, 330, 670)


def test_what_waits_for_the_end_of_an_rdma_transfer_is_part_of_it() -> None:
    payload = transfer(10_200, 300, transport="RDMA", rdma="RDMA_SEND_PAYLOAD")
    profile = one_operator(wait(10_100, 40), payload, wait(10_499, 80), wait(10_500, 11))
    assert times(profile) == (1_000, 300, 51, 40, 649)


def test_transfers_name_their_link_and_both_ranks() -> None:
    profile = one_operator(
        transfer(10_000, 10, link="ON_CHIP", dst_rank=THIS_RANK),
        transfer(10_100, 11),
        transfer(10_200, 12, link="PCIE", dst_rank=2),
        transfer(10_300, 13, transport="RDMA", link="ROCE", dst_rank=9),
        transfer(10_400, 14, link="HCCS_2", dst_rank=1),
        wait(10_500, 15),
    )
    columns = ("src_rank", "dst_rank", "transport", "time_ns", "size_bytes")
    assert communication_transfers(profile).select(columns).rows() == [
        (0, 0, "LOCAL", 10, 70),
        (0, 3, "HCCS", 11, 77),
        (0, 2, "PCIE", 12, 84),
        (0, 9, "RDMA", 13, 91),
        (0, 1, "SDMA", 14, 98),
    ]


def test_the_statistic_of_types_is_longest_first_for_each_device() -> None:
    def operator(device: int, kind: str, duration_ns: int) -> dict[str, object]:
        return {"device_id": device, "op_type": kind, "duration_ns": duration_ns}

    profile = make_profile(
        communication_ops=[
            operator(1, "hcom_broadcast_", 5_000),
            operator(0, "hcom_allGather_", 1_000),
            operator(0, "hcom_allReduce_", 2_000),
            operator(0, "hcom_allReduce_", 4_500),
        ]
    )
    found = communication_statistic(profile)
    assert found.drop("ratio_pct").rows() == [
        (0, "hcom_allReduce_", 2, 6.5, 2.0, 3.25, 4.5),
        (0, "hcom_allGather_", 1, 1.0, 1.0, 1.0, 1.0),
        (1, "hcom_broadcast_", 1, 5.0, 5.0, 5.0, 5.0),
    ]
    assert found["ratio_pct"].to_list() == pytest.approx([100 * 6.5 / 7.5, 100 / 7.5, 100])
