"""
Doubling a dim never makes a kernel faster, and no rate beats its limit: random kernels on every chip.

``MONOTONICITY_KERNELS`` sets how many (``make monotonicity``: 100 000).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator

import pytest

from drynpu.kernels import KernelSpec, TaskType, TensorDesc, cost
from drynpu.kernels._pipes import mac_rate
from drynpu.platforms import Chip, known_chips
from drynpu_calibration import described_kernel

COUNT = int(os.environ.get("MONOTONICITY_KERNELS", "3000"))
TINY = 1 - 1e-9
DTYPES = ("FLOAT", "FLOAT16", "DT_BF16", "INT8")
PRODUCTS = ("MatMulV3", "BatchMatMulV2", "GroupedMatmul", "FlashAttentionScore", "FusedInferAttentionScore")
VECTOR = (
    "Add",
    "Cast",
    "RmsNorm",
    "LayerNormV3",
    "SoftmaxV2",
    "DynamicQuant",
    "ReduceSum",
    "Gelu",
    "Sort",
    "TopKV2",
    "ZerosLike",
)


def size(random: random.Random) -> int:
    return max(round(2 ** random.uniform(0, 13)) + random.choice((0, 0, 1, -1)), 1)


def of_dims(kind: str, dims: tuple[int, ...], dtype: str) -> KernelSpec:
    if kind in {"MatMulV3", "BatchMatMulV2"}:
        m, k, n, batch = dims
        stack = (batch,) if kind == "BatchMatMulV2" else ()
        operands = TensorDesc((*stack, m, k), dtype), TensorDesc((*stack, k, n), dtype)
        return described_kernel(kind, TaskType.AI_CORE, operands, [TensorDesc((*stack, m, n), dtype)])
    if kind == "FlashAttentionScore":
        heads, queries, width, batch = dims
        x = TensorDesc((batch, heads, queries, width), dtype)
        statistics = TensorDesc((batch, heads, queries, 8), "FLOAT")
        return described_kernel(kind, TaskType.MIX_AIC, [x, x, x], [statistics, x])
    if kind == "GroupedMatmul":
        # Each group has its rows. The inner edge is longer than the columns, so that nobody takes one for the other.
        rows, n, groups = dims[0], dims[2], dims[3]
        k = 16 * n * (1 + dims[1] // 16)
        x, weights = TensorDesc((rows * groups, k), dtype), TensorDesc((groups, k, n), dtype)
        return described_kernel(kind, TaskType.MIX_AIC, [x, weights], [TensorDesc((rows * groups, n), dtype)])
    if kind == "FusedInferAttentionScore":
        heads, keys, width, batch = dims
        query, cache = TensorDesc((batch, heads, 1, width), dtype), TensorDesc((batch, 1, keys, width), dtype)
        return described_kernel(kind, TaskType.MIX_AIC, [query, cache, cache], [query])
    if kind == "GatherV2":
        rows, width, table, _ = dims
        index = TensorDesc((rows,), "INT64")
        return described_kernel(
            kind, None, [TensorDesc((table, width), dtype), index], [TensorDesc((rows, width), dtype)]
        )
    x = TensorDesc(dims[:3], dtype)
    out = TensorDesc((dims[0], 1, 1), dtype) if kind == "ReduceSum" else x
    return described_kernel(kind, None, [x], [out])


def doubled(dims: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for at in range(len(dims)):
        yield (*dims[:at], 2 * dims[at], *dims[at + 1 :])


@pytest.mark.parametrize("chip", known_chips(), ids=lambda chip: chip.name)
def test_more_is_never_faster_and_no_rate_beats_its_limit(chip: Chip) -> None:
    chance = random.Random(chip.name)
    slower = []
    for _ in range(COUNT // len(known_chips())):
        kind = chance.choice((*PRODUCTS, "GatherV2", *VECTOR))
        dims = (size(chance), size(chance), size(chance), chance.choice((1, 2, 3, 8, 12)))
        dtype = chance.choice(DTYPES)
        spec = of_dims(kind, dims, dtype)
        account = cost(spec, chip)
        products = account.duration_ns * mac_rate(spec, chip) * chip.cube_cores
        assert spec.cube_flops <= products, spec
        # Cleared and written bytes stay in L2 where they fit, so its rate is the limit.
        assert spec.bytes_written <= account.duration_ns * max(chip.l2_write_gbs, chip.memory_gbs), spec
        assert (
            spec.bytes_read <= account.duration_ns * max(chip.l2_read_gbs, chip.memory_gbs)
            or kind == "FlashAttentionScore"
        )
        slower += [
            (kind, dtype, dims, more)
            for more in doubled(dims)
            if cost(of_dims(kind, more, dtype), chip).duration_ns < account.duration_ns * TINY
        ]
    assert not slower, f"{len(slower)} of {COUNT}: {slower[:5]}"
