"""Four ranks that use everything: results, and profiles that agree with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("every_call.py")
RANKS = 4
TICK_US = 0.02
LATENCY_US = 2.4
"""Of a small message over HCCS, as measured (docs/device-model.md)."""
STEPS = {"broadcast": 2, "reduce": 2, "scatter": 1}
"""Steps of a collective that has a root: parts are dealt out or reduced, then gathered."""
ROOTED = tuple(STEPS)
MESSAGES = ("send", "receive", "batchSendRecv")


@pytest.fixture(scope="module")
def run(run_ranks: Callable[..., Any]) -> Any:
    return run_ranks(SCRIPT, "hccl", ranks=RANKS)


@pytest.fixture(scope="module")
def ranks(run: Any, by_rank: Callable[..., Any]) -> list[Any]:
    outputs = by_rank(run, "out")
    assert len(outputs) == RANKS
    return outputs


@pytest.fixture(scope="module")
def told(ranks: list[Any], operators: Callable[..., Any]) -> list[list[Any]]:
    """Return the communication operators of every rank."""
    return [operators(output) for output in ranks]


def test_results_are_those_of_plain_gloo(run: Any, run_ranks: Callable[..., Any]) -> None:
    run_ranks(SCRIPT, "gloo", ranks=RANKS, folder=run.folder)
    digests = {
        backend: [(run.folder / f"{backend}_{r}.txt").read_text() for r in range(RANKS)] for backend in ("hccl", "gloo")
    }
    assert digests["hccl"] == digests["gloo"]
    assert len(set(digests["gloo"])) == RANKS, "every rank computed something of its own"


def test_every_call_is_the_operator_that_hccl_has_for_it(told: list[list[Any]]) -> None:
    kinds = Counter(of.kind for of in told[0])
    assert kinds == {
        # three, the one of the pair, asynchronous, inference mode, functional, barrier, two steps of one bucket
        "allReduce": 8,
        # the call; sizes and bytes of objects; parameters checked and dealt out when DDP is made; buffers of two
        # forward passes, by type; the reducer's new buckets
        "broadcast": 1 + 2 + 3 + 4 + 2,
        "reduce": 1,
        # lists, tensor; gather; sizes and bytes of objects; DDP's check; shards of two forward passes, twice
        "allGather": 2 + 1 + 2 + 1 + 4,
        "reduceScatter": 2 + 4,
        "alltoall": 1,
        "alltoallv": 2,
        "scatter": 1,
        "send": 1,
        "batchSendRecv": 1,
    }


def test_ranks_tell_of_the_same_operators(told: list[list[Any]]) -> None:
    def shown(of: Any) -> tuple[Any, ...]:
        return of.kind, of.group, of.args["count"], of.args["data_type"], of.args["alg_type"], of.args["rank_size"]

    world = told[0][0].group
    lists = [[shown(of) for of in rank if of.group == world and of.kind not in MESSAGES] for rank in told]
    assert all(one == lists[0] for one in lists)
    assert ("allReduce", world, 1000, "FP32", "MESH-RING-NHR", RANKS) in lists[0]


def test_all_ranks_leave_a_collective_together_and_the_last_to_come_waits_for_nobody(told: list[list[Any]]) -> None:
    world = told[0][0].group
    rows = zip(*([of for of in rank if of.group == world and of.kind not in MESSAGES] for rank in told), strict=True)
    for row in rows:
        latest = max(row, key=lambda of: of.start)
        if row[0].kind in ROOTED:  # the root has other tasks than the rest and is through at another time
            # A root that moves nothing by itself waits while the others read from it, in one step or in two.
            assert latest.wait_us < STEPS[row[0].kind] * LATENCY_US + 2 * TICK_US + 0.1, latest
            continue
        assert latest.wait_us < 2 * TICK_US + 0.1, latest
        transfers = {of.info["Transit Time(ms)"] for of in row}
        assert float(max(of.end for of in row) - min(of.end for of in row)) < 2 * TICK_US + 0.01, row
        # Parts of a payload that does not divide evenly differ by a few bytes, a transfer lasts whole ticks.
        assert max(transfers) - min(transfers) <= 2 * TICK_US / 1000, row
        for of in row:
            assert of.wait_us == pytest.approx(float(latest.start - of.start), abs=0.2)


def test_a_group_of_its_own_has_its_name_and_waits_for_its_members_only(
    ranks: list[Any], told: list[list[Any]]
) -> None:
    world = told[0][0].group
    pairs = [[of for of in rank if of.group != world] for rank in told]
    assert [len(own) for own in pairs] == [1] * RANKS
    assert pairs[0][0].group == pairs[1][0].group != pairs[2][0].group == pairs[3][0].group
    assert abs(pairs[0][0].end - pairs[1][0].end) < 1
    groups = [output.document("profiler_metadata.json")["parallel_group_info"] for output in ranks]
    assert groups[3]["group_name_0"] == {"group_name": "default_group", "group_rank": 3, "global_ranks": [0, 1, 2, 3]}
    (pair,) = (of for name, of in groups[3].items() if name != "group_name_0")
    assert pair == {"group_name": "pair", "group_rank": 1, "global_ranks": [2, 3]}


def test_a_receive_begins_to_take_after_its_send(told: list[list[Any]]) -> None:
    for source, target in ((0, 1), (2, 3)):  # the second pair asynchronously
        (sent,) = (of for of in told[source] if of.kind == "send")
        (taken,) = (of for of in told[target] if of.kind == "receive")
        assert taken.end > sent.start
        assert taken.wait_us == pytest.approx(max(0.0, float(sent.start - taken.start)), abs=0.2)
        assert (sent.args["count"], taken.args["count"]) == (3, 3)


def test_nothing_of_gloo_is_in_the_profile(ranks: list[Any]) -> None:
    for output in ranks:
        names = {event["name"] for event in output.operators()}
        assert not any(name.startswith("gloo:") for name in names)
        assert {"c10d::allreduce_", "c10d::_allgather_base_", "c10d::barrier"} <= names
        simulated = output.document("profiler_metadata.json")["drynpu"]
        assert simulated["unmapped_operators"] == {}
        assert "notes" not in simulated
        assert output.document("profiler_info_*.json")["rank_id"] in {"0", "1", "2", "3"}


def test_shards_are_gathered_from_streams_of_their_own(ranks: list[Any]) -> None:
    kernels = ranks[0].layer("Ascend Hardware")
    streams = {name: {event["tid"] for event in kernels if name in event["name"]} for name in ("Addmm", "ForeachCopy")}
    assert all(streams.values())
    assert streams["Addmm"].isdisjoint(streams["ForeachCopy"])
