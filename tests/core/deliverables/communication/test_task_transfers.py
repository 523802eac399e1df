"""What tasks of collectives moved: copies by themselves, RDMA payloads until their transfer has ended."""

from __future__ import annotations

import polars as pl

from drynpu.deliverables.communication.tables import task_transfers

PAYLOAD = "RDMA_SEND_PAYLOAD"


def task(
    start: int, took: int, size: int = 0, *, connection: int = 1, kind: str = "hcom_allReduce_", **more: object
) -> dict[str, object]:
    rest = {"name": "Notify_Wait", "transport": "SDMA", "rdma": "", "device_id": 0, "plane_id": 0}
    times = {"start_ns": start, "duration_ns": took, "size_bytes": size}
    return {**rest, **times, "connection_id": connection, "op_type": kind, **more}


def payload(start: int, size: int, **more: object) -> dict[str, object]:
    return task(start, 1, size, name="RDMASend", transport="RDMA", rdma=PAYLOAD, **more)


def found(*rows: dict[str, object]) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_list() for column in task_transfers(pl.DataFrame(rows))), strict=True))


def test_copies_are_transfers_and_one_that_took_no_time_has_no_rate() -> None:
    copied = {"name": "Memcpy"}
    assert found(
        task(0, 10, 70, **copied),
        task(20, 0, 70, **copied),
        task(30, 4, 8, name="Reduce_Inline"),
        task(40, 5, 9),
        task(50, 5, 10, transport="LOCAL", **copied),
    ) == [(7.0, 70, 10), (0.0, 70, 0), (2.0, 8, 4), (1.8, None, None), (2.0, None, None)]


def test_payloads_in_a_row_are_one_transfer_until_the_barrier_behind_them_has_ended() -> None:
    """The fifth task from the last payload on closes it: from 50 to 100 are 50 ns for 42 bytes."""
    rows = found(payload(50, 30), payload(52, 12), task(60, 2), task(65, 2), task(70, 2), task(90, 10), task(110, 9))
    assert rows[:2] == [(0.84, 42, 50), (0.84, None, None)]
    assert all(row == (0.0, None, None) for row in rows[2:])


def test_between_two_ranks_there_is_no_barrier_and_what_does_not_end_is_no_transfer() -> None:
    """The third task closes it; of the second operator it is missing, and the third's would be of another plane."""
    send = {"kind": "hcom_send_"}
    rows = found(
        *(payload(0, 8, **send), task(5, 1, **send), task(10, 10, **send)),
        *(payload(50, 8, connection=2, **send), task(55, 1, connection=2, **send)),
        *(task(80, 4, connection=3, **send), payload(90, 6, plane_id=1, connection=3, **send)),
        task(95, 1, plane_id=1, connection=3, **send),
    )
    assert rows[0] == (0.4, 8, 20)
    assert all(row[1:] == (None, None) for row in rows[1:])
    whole = found(payload(0, 8, **send), task(5, 1, **send), task(10, 10, **send), task(30, 1, **send))
    assert whole[0] == (0.4, 8, 20), "what comes behind changes nothing"
    assert found(task(0, 1)) == [(0.0, None, None)]
