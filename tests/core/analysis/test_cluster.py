"""Ranks side by side: who is slow, and which link."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest

from drynpu.analysis import CLUSTER_LINKS, CLUSTER_STEPS, cluster_links, slow_links, slow_ranks
from drynpu.products import find_profiles, load_profile

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
