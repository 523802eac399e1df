"""Batch norms of several ranks: numbers of the whole batch, gradients, and what a device runs for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parent / "shared_statistics.py"
RANKS = range(2)


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32).astype(np.float64)


def expected(shapes: list[tuple[int, ...]], eps: float, momentum: float, rows: int) -> list[dict[str, Any]]:
    """
    Return by rank what a batch norm of the rows of all ranks gives; gradients of weight and bias are each rank's own.

    The variance of a batch is corrected for *rows* rows where it goes into the moving one.
    """
    inputs, weights = ([drawn(seed + rank, *shapes[rank]) for rank in RANKS] for seed in (0, 10))
    x, w, axes = np.concatenate(inputs), np.concatenate(weights), (0, *range(2, len(shapes[0])))
    weight, bias = (drawn(seed, 3).reshape(1, 3, *[1] * (x.ndim - 2)) for seed in (7, 8))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + eps)
    dx = w - w.mean(axes, keepdims=True) - normal * (w * normal).mean(axes, keepdims=True)
    dx *= weight / np.sqrt(variance + eps)
    ends = np.cumsum([len(each) for each in inputs])[:-1]
    parts = zip(*(np.split(each, ends) for each in (normal * weight + bias, dx, w * normal, w)), strict=True)
    unbiased = variance.ravel() * rows / (rows - 1)
    moving = {"mean": mean.ravel() * momentum, "variance": 1 - momentum + unbiased * momentum}
    return [
        {"y": y, "dx": dx, "dweight": dweight.sum(axes), "dbias": dbias.sum(axes), **moving}
        for y, dx, dweight, dbias in parts
    ]


# BNTrainingUpdate gets sums that are means over the devices, so it takes the rows of one device for all.
CASES = {
    "pynative image": ([(2, 3, 4, 5)] * 2, 1e-5, 0.1, 40),
    "graph image": ([(2, 3, 4, 5)] * 2, 1e-5, 0.1, 40),
    "pynative rows": ([(4, 3)] * 2, 1e-3, 0.3, 4),
    "graph rows": ([(4, 3)] * 2, 1e-3, 0.3, 4),
    "mint": ([(2 + rank, 3, 4, 5) for rank in RANKS], 1e-5, 0.1, 100),
}
KERNELS = [
    *("BNTrainingReduce", "hcom_allReduce_", "hcom_allReduce_", "BNTrainingUpdate"),
    *("BNTrainingUpdateGrad", "hcom_allReduce_", "hcom_allReduce_", "BNTrainingReduceGrad"),
]


@pytest.mark.slow
def test_ranks_share_the_statistics_of_a_batch(run_ranks: Any, read_rows: Any) -> None:
    folder, found = run_ranks(SCRIPT, len(RANKS))
    for name, case in CASES.items():
        ranks = expected(*case)
        # MindSpore's graph pass averages the gradients of weight and bias over the devices.
        shared = {} if name == "mint" else {each: np.mean([r[each] for r in ranks], 0) for each in ("dweight", "dbias")}
        for rank, wanted in enumerate(ranks):
            for part, value in (wanted | shared).items():
                np.testing.assert_allclose(
                    found[rank][f"{name} {part}"], value, rtol=2e-4, atol=2e-5, err_msg=f"rank {rank}: {name} {part}"
                )
    for mode in ("pynative", "graph"):
        for rows in read_rows(folder / "out" / mode).values():
            assert [kind for kind, _ in rows if kind.startswith(("BN", "hcom_"))] == KERNELS
            assert {moved for kind, moved in rows if kind.startswith("hcom_")} == {12}
