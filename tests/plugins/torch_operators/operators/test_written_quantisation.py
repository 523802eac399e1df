"""Quantisation into given tensors and by groups, number by number in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
Kernels = Callable[..., Any]


def _rounded(value: float) -> int:
    """Return an INT8: half to even, values out of range at its ends."""
    return max(-128, min(127, round(value)))


def test_each_place_has_its_scale(kernels: Kernels) -> None:
    x = torch.tensor([[0.5, 1.5, 300.0], [-2.5, -400.0, 7.0]])
    scale, zero = torch.tensor([1.0, 1.0, 2.0]), torch.tensor([0, 1, -3], dtype=torch.int8)
    y = torch.zeros(2, 3, dtype=torch.int8)
    (kernel,) = kernels(lambda: npu._npu_quantize_per_tensor(x, scale, zero, y))
    wanted = [
        [_rounded(round(v / s) + z) for v, s, z in zip(row, scale.tolist(), zero.tolist(), strict=True)]
        for row in x.tolist()
    ]
    assert (y.tolist(), kernel.op_type) == (wanted, "ElewiseQuantPerChannelKernel")
    npu._npu_quantize_per_tensor(x, scale, torch.empty(0, dtype=torch.int8), y)
    assert y.tolist() == [[0, 2, 127], [-2, -128, 4]]
    with pytest.raises(RuntimeError, match="ATB tensor supports at most 8 dimensions, but got 9"):
        npu._npu_quantize_per_tensor(x, torch.ones((1,) * 9), zero, y)


def test_a_norm_is_quantised_where_it_is_written(kernels: Kernels) -> None:
    x, gamma, beta = torch.randn(2, 6), torch.rand(6), torch.randn(6)
    scale, offset, y = torch.tensor([0.05]), torch.tensor([2], dtype=torch.int8), torch.zeros(2, 6, dtype=torch.int8)
    (kernel,) = kernels(lambda: npu._npu_quant_rms_norm(x, gamma, beta, scale, offset, y, 1e-5))
    wanted = []
    for row in x.double():
        rms = float((row @ row / 6 + 1e-5).sqrt())
        parts = zip(row.tolist(), gamma.tolist(), beta.tolist(), strict=True)
        wanted.append([_rounded((v / rms * g + b) / 0.05 + 2) for v, g, b in parts])
    assert (y.tolist(), kernel.op_type) == (wanted, "RmsNormQuantKernel")


def test_groups_of_rows(check: Check) -> None:
    x, scale = torch.randn(5, 4) * 30, torch.rand(3, 4) + 0.5
    ends, offset = torch.tensor([2, 2, 5]), torch.tensor([3.0])
    groups = [0, 0, 2, 2, 2]
    wanted = [[_rounded(float(x[i, j]) * float(scale[g, j]) + 3) for j in range(4)] for i, g in enumerate(groups)]
    expected = torch.tensor(wanted, dtype=torch.int8)
    (kernel,) = check("npu_group_quant", (x, scale, ends), expected, offset=offset, dst_dtype=torch.qint8)
    assert kernel.op_type == "GroupQuant"
    with pytest.raises(RuntimeError, match="drynpu computes npu_group_quant to INT8"):
        npu.npu_group_quant(x, scale, ends, dst_dtype=torch.quint4x2)


def test_rows_are_quantised_into_a_cache(check: Check) -> None:
    cache = torch.zeros(2, 4, 3, dtype=torch.int8)
    updates, scales = torch.randn(2, 1, 3) * 20, torch.tensor([[[0.5, 1.0, 2.0]]])
    places = torch.tensor([1, 3], dtype=torch.int32)
    wanted = cache.clone()
    for b, place in enumerate((1, 3)):
        for j in range(3):
            wanted[b, place, j] = _rounded(float(updates[b, 0, j]) / float(scales[0, 0, j]))
    (kernel,) = check("npu_quant_scatter", (cache, places, updates, scales), wanted)
    assert (kernel.op_type, int(cache.count_nonzero())) == ("QuantUpdateScatter", 0)
    assert npu.npu_quant_scatter_(cache, places, updates, scales) is cache
    assert torch.equal(cache, wanted)
    with pytest.raises(RuntimeError, match="reduce should be update, but got add"):
        npu.npu_quant_scatter(cache, places, updates, scales, reduce="add")
