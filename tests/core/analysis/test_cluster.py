"""Ranks side by side: who is slow, and which link."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from drynpu.analysis import (
    CLUSTER_LINKS,
    CLUSTER_STEPS,
    cluster_links,
    cluster_ranks,
    cluster_steps,
    slow_links,
    slow_ranks,
    summarise,
)
from drynpu.products import find_profiles, load_profile
from drynpu.tables import Profile

from .conftest import make_profile

GENUINE = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[4] / "shared" / "data")) / "genuine"


def steps(rows: list[tuple[str, float, float, float]]) -> pl.DataFrame:
    """Rank, computing, communication and free, us."""
    filled = [(rank, "1", a, b, 0.0, c, a + b + c) for rank, a, b, c in rows]
    return pl.DataFrame(filled, schema=CLUSTER_STEPS, orient="row")


def test_a_rank_is_slow_by_what_it_does_alone() -> None:
    """All steps are as long, since the quick ones wait for the slow one."""
    found = slow_ranks(steps([("0", 50.0, 50.0, 0.0), ("1", 40.0, 60.0, 0.0), ("2", 60.0, 0.0, 40.0)]))
    assert found["rank"].to_list() == ["2"]
    assert found["us"][0] == 100.0
    assert found["share"][0] == pytest.approx(100 / (190 / 3) - 1)


def test_even_ranks_are_not_slow() -> None:
    assert slow_ranks(steps([("0", 50.0, 50.0, 0.0), ("1", 70.0, 30.0, 0.0)])).is_empty()


def test_links_are_compared_with_their_kind() -> None:
    rows = [(0, 1, "HCCS", 1, 1.0, 1, 20.0), (1, 2, "HCCS", 1, 1.0, 1, 20.0), (2, 0, "HCCS", 1, 1.0, 1, 5.0)]
    rows += [(0, 8, "RDMA", 1, 1.0, 1, 4.0), (8, 0, "RDMA", 1, 1.0, 1, 4.5)]
    found = slow_links(pl.DataFrame(rows, schema=CLUSTER_LINKS, orient="row"))
    assert found.select("source", "target").rows() == [(2, 0)]
    assert found["share"][0] == pytest.approx(1 - 5 / 15)


def moved(source: int, target: int, time_ns: int, size: int, **more: object) -> dict[str, object]:
    """A transfer of a collective from one rank to another."""
    ranks = {"src_rank": source, "dst_rank": target, "transport": "SDMA", "link": "HCCS"}
    return {**ranks, "transfer_ns": time_ns, "transfer_bytes": size, "name": "Memcpy", **more}


def rank_zero() -> Profile:
    return make_profile(
        communication_ops=[
            {"connection_id": 1, "start_ns": 0, "duration_ns": 7_000},
            {"connection_id": 2, "start_ns": 9_000, "duration_ns": 4_000},
        ],
        communication_tasks=[
            moved(0, 1, 2_000, 30_000, connection_id=1, is_master=True, start_ns=1_000, duration_ns=2_000),
            moved(0, 1, 3_000, 10_000, connection_id=2, is_master=True, start_ns=9_000, duration_ns=3_000),
            moved(0, 3, 0, 500, connection_id=2, link="PCIE"),
            moved(0, 0, 9_000, 90_000, connection_id=2),
            {"name": "Notify_Wait", "connection_id": 1, "is_master": True, "start_ns": 500, "duration_ns": 250},
        ],
    )


def test_links_add_up_what_was_moved_and_a_rate_needs_a_time() -> None:
    links = cluster_links([rank_zero(), make_profile(communication_tasks=[moved(1, 0, 1_000, 6_000)])])
    assert links.schema == CLUSTER_LINKS
    # 40 000 bytes in 5 us are 8 GB/s. What has no time has no rate, and copies within a rank are no link.
    assert links.rows() == [
        (0, 1, "HCCS", 2, 5.0, 40_000, 8.0),
        (0, 3, "PCIE", 1, 0.0, 500, None),
        (1, 0, "HCCS", 1, 1.0, 6_000, 6.0),
    ]


def test_a_rank_without_tasks_of_collectives_says_nothing_of_waits() -> None:
    bare = make_profile(communication_ops=[{"connection_id": 1, "start_ns": 0, "duration_ns": 5_000}])
    ranks = [("0", rank_zero()), ("1", bare)]
    found = cluster_ranks([(name, profile, summarise(profile)) for name, profile in ranks])
    assert [row[:5] for row in found.rows()] == [("0", 2, 11.0, 0.25, 5.0), ("1", 1, 5.0, None, None)]


def test_steps_of_ranks_stand_below_each_other_with_their_totals() -> None:
    kernel = {"name": "a", "op_type": "MatMul", "task_type": "AI_CORE"}
    first = make_profile(
        kernels=[{**kernel, "start_ns": 0, "duration_ns": 6_000}, {**kernel, "start_ns": 8_000, "duration_ns": 1_000}],
        communication_ops=[{"start_ns": 5_000, "duration_ns": 2_500}],
    )
    found = cluster_steps([("3", summarise(first)), ("4", summarise(make_profile()))])
    assert found.schema == CLUSTER_STEPS
    assert found.rows(named=True) == [
        {
            "rank": "3", "step": "", "computing_us": 7.0, "communication_not_overlapped_us": 1.5,
            "overlapped_us": 1.0, "free_us": 0.5, "total_us": 9.0,
        }
    ]  # fmt: skip


@pytest.mark.skipif(not GENUINE.is_dir(), reason="no genuine profiles")
def test_links_of_a_genuine_run_move_what_its_matrix_says() -> None:
    folders = find_profiles(GENUINE / "torch_text_level1")
    links = cluster_links([load_profile(folder) for folder in folders])
    for rank, folder in enumerate(folders):
        matrix = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication_matrix.json").read_text())
        expected: dict[tuple[int, int], float] = {}
        for kinds in matrix.values():
            for name, pairs in kinds["collective"].items():
                if "-total@" in name:
                    for pair, values in pairs.items():
                        source, target = map(int, pair.split("-"))
                        if source != target:
                            expected[source, target] = expected.get((source, target), 0) + values["Transit Size(MB)"]
        mine = links.filter(pl.col("source") == rank)
        found = {(row["source"], row["target"]): row["size_bytes"] / 1e6 for row in mine.iter_rows(named=True)}
        assert {pair: size for pair, size in expected.items() if pair[0] == rank} == pytest.approx(found, rel=0.06)
