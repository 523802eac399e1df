"""Operators that exchange rows with other ranks: a script on two ranks, and the profile that it leaves."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("fused_script.py")
COMPARED = [
    *("all_reduce", "all_gather", "gathered", "reduce_scatter", "matmul_all_to_all", "joined", "all_to_all_matmul"),
    *("quantised all_reduce", "alltoallv_gmm", "permuted", "shared product", "gmm_alltoallv"),
    *("dispatch", "combine", "dispatch_v2", "combine_v2", "quantised dispatch"),
]
REFUSALS = 6


@pytest.fixture(scope="module")
def run(run_ranks: Callable[..., Any]) -> Any:
    return run_ranks(SCRIPT, ranks=2)


def test_results_equal_the_formulas(run: Any) -> None:
    for rank in range(2):
        done = (run.folder / f"done_{rank}.txt").read_text().splitlines()
        assert [name for name in done if not name.endswith("is refused")] == COMPARED
        assert len(done) - len(COMPARED) == REFUSALS


def test_kernels_and_the_collectives_beside_them(run: Any, by_rank: Callable[..., Any]) -> None:
    for output in by_rank(run, "."):
        types = Counter(row["Type"] for row in output.rows("kernel_details.csv"))
        fused = ("MatmulAllReduce", "AllGatherMatmul", "MatmulReduceScatter", "MatmulAlltoAll", "AlltoAllMatmul")
        assert [types[name] for name in fused] == [2, 2, 1, 1, 1]
        exchanges = ("AlltoAllvGroupedMatMul", "GroupedMatMulAlltoAllv", "MoeDistributeDispatchV2")
        assert [types[name] for name in exchanges] == [1, 1, 2]
        assert types["MoeDistributeCombine"] == types["MoeDistributeCombineV2"] == 1
        steps = json.loads((output.folder / "communication.json").read_text())
        kinds = Counter(key.split("_")[1] for step in steps.values() for key in step["collective"] if "@" in key)
        assert kinds["allReduce"] == 2
        assert kinds["allGather"] == 2
        assert kinds["reduceScatter"] == 1
