"""Operators that few call, against formulas in FP64: bytes that drop, products that add, convolutions of INT8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def test_dropout_with_a_byte_for_each_number(kernels: Check) -> None:
    x = torch.arange(1.0, 2001.0).reshape(40, 50).requires_grad_()
    found: list[torch.Tensor] = []
    launched = kernels(lambda: found.extend(npu._dropout_with_byte_mask(x, 0.25)))
    out, mask = found
    assert [kernel.op_type for kernel in launched] == ["DropOutGenMaskV3", "DropOutDoMaskV3"]
    assert (mask.dtype, mask.shape, set(mask.tolist())) == (torch.uint8, (2000,), {0, 1})
    assert 0.68 < float(mask.float().mean()) < 0.82  # 0.75, within 7 standard deviations
    factors = mask.reshape(40, 50).double() / 0.75
    torch.testing.assert_close(out.double(), x.detach().double() * factors, rtol=1e-6, atol=0)
    (out * 3).sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad.double(), factors * 3, rtol=1e-6, atol=0)
    for p in (-0.1, 1.1):
        with pytest.raises(RuntimeError, match="dropout probability has to be between 0 and 1"):
            npu._dropout_with_byte_mask(x, p)


def test_products_that_are_added_to_a_sum(kernels: Check) -> None:
    generator = torch.Generator().manual_seed(4)
    x, weight = (torch.randn(5, width, generator=generator).half() for width in (3, 4))
    total = torch.ones(3, 4)
    (kernel,) = kernels(lambda: npu._npu_matmul_add_fp32(x, weight, total))
    torch.testing.assert_close(total.double(), 1 + x.double().t() @ weight.double(), rtol=0, atol=1e-6)
    assert (kernel.op_type, kernel.cube_flops) == ("MatmulAddFp32", 2 * 3 * 5 * 4)
    sums = torch.ones(2, 3, 4)
    ends = torch.tensor([2, 5])
    (kernel,) = kernels(lambda: npu.npu_groupmatmul_add_fp32(x, weight, ends, sums))
    parts = [x[rows].double().t() @ weight[rows].double() for rows in (slice(0, 2), slice(2, 5))]
    torch.testing.assert_close(sums.double(), 1 + torch.stack(parts), rtol=0, atol=1e-6)
    assert kernel.cube_flops == 2 * 3 * 5 * 4


def test_convolution_of_int8_numbers(check: Check) -> None:
    generator = torch.Generator().manual_seed(6)
    x = torch.randint(-20, 20, (2, 4, 5, 6), generator=generator).to(torch.int8)
    weight = torch.randint(-9, 9, (6, 2, 3, 2), generator=generator).to(torch.int8)
    bias = torch.randint(-50, 50, (6,), generator=generator).int()
    scale = torch.tensor([0.5, 0.25, 2.0, 0.125, 1.0, 0.75])
    expected = torch.zeros(2, 6, 3, 4, dtype=torch.double)
    for n in range(2):
        for channel in range(6):
            for row in range(3):
                for column in range(4):
                    total = int(bias[channel])
                    for source in range(2):
                        plane = x[n, source + 2 * (channel // 3)]
                        for i in range(3):
                            for j in range(2):
                                y, z = 2 * row + i - 1, 2 * column + j - 1
                                inside = 0 <= y < 5 and 0 <= z < 6
                                total += int(plane[y, z] if inside else 7) * int(weight[channel, source, i, j])
                    expected[n, channel, row, column] = total * float(scale[channel])
    options = {"strides": [2, 2], "pads": [1, 1], "groups": 2, "offset_x": 7, "bias": bias}
    (kernel,) = check("npu_quant_conv2d", (x, weight, scale), expected, output_dtype=5, **options)
    assert (kernel.op_type, kernel.cube_flops) == ("QuantConv2D", 2 * 2 * 3 * 4 * 12 * 6)
