"""Communication as MindSpore arranges it: by step, point to point apart, with sums and ranks."""

from __future__ import annotations

from typing import Any

import polars as pl

from drynpu.deliverables.communication._mindspore import by_mindspore_steps

STEPS = pl.DataFrame([("3", 1000, 2000), ("4", 3000, 4000)], schema=["step", "start_ns", "end_ns"], orient="row")


def timed(start_us: float, wait: float, synchronization: float, transit: float) -> dict[str, float]:
    return {"Start Timestamp(us)": start_us, "Elapse Time(ms)": 50.0, "Transit Time(ms)": transit,
            "Wait Time(ms)": wait, "Synchronization Time(ms)": synchronization, "Wait Time Ratio": 0.9,
            "Synchronization Time Ratio": 0.8}  # fmt: skip


def moved(size: float, transit: float, *packets: tuple[str, int, float]) -> dict[str, Any]:
    return {
        "Transit Size(MB)": size, "Transit Time(ms)": transit, "Bandwidth(GB/s)": 1.0,
        "Size Distribution": {kind: [count, took] for kind, count, took in packets},
    }  # fmt: skip


def operator(times: dict[str, float], **links: dict[str, Any]) -> dict[str, Any]:
    return {"Communication Time Info": times, "Communication Bandwidth Info": links}


TIMES = {
    "hcom_allReduce__1@7": operator(timed(1.0, 3.0, 2.0, 1.0), HCCS=moved(10.0, 4.0, ("5", 2, 0.5), ("6", 1, 0.25))),
    "hcom_allReduce__2@7": operator(
        timed(2.0, 5.0, 1.0, 7.0), HCCS=moved(30.0, 8.0, ("5", 3, 1.5)), RDMA=moved(2.0, 16.0)
    ),
    "Send-op1@7": operator(timed(1.5, 0.0, 0.0, 0.0)),
    "Total HCCL Info": operator(timed(1.5, 9.0, 9.0, 9.0)),
    "hcom_broadcast__1@7": operator(timed(3.0, 1.0, 0.0, 3.0)),
    "hcom_allGather__1@7": operator(timed(2.5, 1.0, 1.0, 1.0)),  # between the steps
}


def link(rate: float, size: float, took: float) -> dict[str, object]:
    return {"Transport Type": "HCCS", "Transit Size(MB)": size, "Transit Time(ms)": took, "Bandwidth(GB/s)": rate}


def test_operators_belong_to_the_step_in_which_they_start_and_add_up_there() -> None:
    document: Any = by_mindspore_steps(TIMES, {}, STEPS)["communication.json"]
    assert {step: {kind: sorted(rows) for kind, rows in kinds.items()} for step, kinds in document.items()} == {
        "step3": {
            "p2p": ["Send-op1@7", "Total Op Info"],
            "collective": ["Total Op Info", "hcom_allReduce__1@7", "hcom_allReduce__2@7"],
        },
        "step4": {"p2p": [], "collective": ["Total Op Info", "hcom_broadcast__1@7"]},
    }
    total = document["step3"]["collective"]["Total Op Info"]
    assert total["Communication Time Info"] == {
        "Elapse Time(ms)": 100.0, "Transit Time(ms)": 8.0, "Wait Time(ms)": 8.0, "Synchronization Time(ms)": 3.0,
        "Wait Time Ratio": 0.5, "Synchronization Time Ratio": 0.2727,
    }  # fmt: skip
    assert total["Communication Bandwidth Info"] == {
        "HCCS": {"Transit Size(MB)": 40.0, "Transit Time(ms)": 12.0,
                 "Size Distribution": {"5": [5, 2.0], "6": [1, 0.25]}},
        "RDMA": {"Transit Size(MB)": 2.0, "Transit Time(ms)": 16.0, "Size Distribution": {}},
    }  # fmt: skip
    nothing = document["step3"]["p2p"]["Total Op Info"]["Communication Time Info"]
    assert (nothing["Wait Time Ratio"], nothing["Synchronization Time Ratio"]) == (0, 0)


def test_links_of_a_kind_and_group_are_ranked_by_bandwidth() -> None:
    rates = {1: (5.0, 10.0, 2.0), 2: (9.0, 27.0, 3.0), 3: (7.0, 35.0, 5.0), 4: (1.0, 4.0, 4.0)}
    matrix = {f"hcom_allReduce__{number}@7": {"0-1": link(*row)} for number, row in rates.items()}
    matrix["hcom_broadcast__1@7"] = {"0-1": link(6.0, 6.0, 1.0)}
    whole = pl.DataFrame([("9", 0, 1)], schema=["step", "start_ns", "end_ns"], orient="row")
    times = {name: operator(timed(1.0, 0.0, 0.0, 0.0)) for name in matrix}
    document: Any = by_mindspore_steps(times, matrix, whole)["communication_matrix.json"]
    ranked = document["step9"]["collective"]
    rows = {
        place: ranked[f"allreduce-{place}@7"]["0-1"] for place in ("top1", "middle", "bottom1", "bottom2", "bottom3")
    }
    assert {place: row["Bandwidth(GB/s)"] for place, row in rows.items()} == {
        "top1": 9.0, "middle": 5.0, "bottom1": 1.0, "bottom2": 5.0, "bottom3": 7.0,
    }  # fmt: skip
    assert rows["top1"]["op_name"] == "hcom_allReduce__2"
    total = ranked["allreduce-total@7"]["0-1"]
    assert (total["Transit Size(MB)"], total["Transit Time(ms)"]) == (76.0, 14.0)
    assert total["Bandwidth(GB/s)"] == 5.4286
    assert {ranked[f"broadcast-{place}@7"]["0-1"]["Bandwidth(GB/s)"] for place in rows} == {6.0}
