"""Products fused with collectives: numbers of the parts of both ranks, one kernel each, and what a device refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "fused_products.py"
RANKS = range(2)


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float16).astype(np.float32)


def upper_half(x: Any) -> Any:
    """Return numbers rounded to bfloat16, ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def halves(seed: int, *shape: int) -> Any:
    return upper_half(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def test_products_take_or_give_the_parts_of_all_ranks(run_ranks: Any) -> None:
    inputs, right, wide = [drawn(rank, 6, 256) for rank in RANKS], drawn(7, 256, 10), drawn(8, 10, 256)
    whole = np.concatenate(inputs)
    total = sum((x @ right).astype(np.float16).astype(np.float32) for x in inputs)
    rounded = sum(upper_half(halves(rank, 6, 256) @ halves(7, 256, 10)) for rank in RANKS)
    folder, found = run_ranks(SCRIPT, len(RANKS))
    for mode in ("pynative", "graph"):
        for rank in RANKS:
            mine = {
                "gather 0": whole @ right,
                "gather 1": whole,
                "turned 0": whole @ wide.T,
                "turned 1": np.zeros(0),
                "scatter 0": total[3 * rank : 3 * rank + 3],
            }
            for name, value in mine.items():
                np.testing.assert_allclose(found[rank][f"{mode} {name}"], value, rtol=1e-3, atol=5e-2, err_msg=name)
            # A sum of two rounded numbers is rounded once more.
            sums = found[rank][f"{mode} bfloat16 0"]
            np.testing.assert_allclose(sums, rounded[3 * rank : 3 * rank + 3], rtol=8e-3, atol=0.25)
        files = list((folder / "out" / mode).glob("*_ascend_ms/ASCEND_PROFILER_OUTPUT/kernel_details.csv"))
        assert len(files) == len(RANKS)
        for file in files:
            kernels = pl.read_csv(file, infer_schema=False)
            assert kernels["Type"].to_list() == ["AllGatherMatmul", "AllGatherMatmul", "MatmulReduceScatter"]
            assert kernels["Output Shapes"].str.strip_chars('"').to_list() == ["12,10;12,256", "12,10", "3,10"]
    text = (folder / "logs" / "worker_1.log").read_text()
    for line in (
        "k, the inner side, is 255; it has to be in [256, 65535)",
        "gather_index is 1; only 0 is allowed, which gathers input",
        "trans_input is True; turn input before the call",
        "world_size is 4 and group 'hccl_world_group' has 2 ranks; both have to be one of 2, 4, 8",
    ):
        assert line in text
    for name in ("inner", "turned", "ranks", "gather_index", "reduce_op", "bias"):
        assert f"refused {name}: " in text
