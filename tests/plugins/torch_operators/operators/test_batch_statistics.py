"""Sums of batch norms over ranks against the mean and the variance of all rows together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_sums_of_a_rank(check: Check, dtype: torch.dtype) -> None:
    x = torch.randn(4, 3, 5, 2).to(dtype)
    rows = x.double().transpose(0, 1).reshape(3, -1)
    (kernel,) = check("batch_norm_reduce", (x, 1e-5), (rows.sum(1), (rows * rows).sum(1)), tolerance=1e-5)
    assert kernel.op_type == "BNTrainingReduce"
    assert npu.batch_norm_reduce(x, 1.0)[0].dtype == torch.float32
    with pytest.raises(RuntimeError, match=r"The dim input tensor \[self\] must more than 1\."):
        npu.batch_norm_reduce(torch.ones(3), 1e-5)


def test_statistics_of_all_ranks(check: Check) -> None:
    ranks = [torch.randn(rows, 3, 2, 2) for rows in (2, 5)]
    sums = [torch.stack(part) for part in zip(*(npu.batch_norm_reduce(x, 0.0) for x in ranks), strict=True)]
    everything = torch.cat(ranks).double().transpose(0, 1).reshape(3, -1)
    mean, var = everything.mean(1), everything.var(1, unbiased=False)
    running = torch.full((3,), 2.0), torch.full((3,), 4.0)
    counts = torch.tensor([8.0, 20.0])
    expected = mean, (var + 1e-5).rsqrt()
    (kernel,) = check("batch_norm_gather_stats_update", (ranks[0], *sums, *running, 0.1, 1e-5, counts), expected)
    assert kernel.op_type == "SyncBatchNormGatherStats"
    torch.testing.assert_close(running[0].double(), 0.1 * mean + 1.8, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(running[1].double(), 0.1 * var + 3.6, rtol=1e-5, atol=1e-5)
    check("batch_norm_gather_stats_update", (ranks[0], *sums, None, None, 0.1, 1e-5, counts), expected)
