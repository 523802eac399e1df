"""Scales of blocks of 32 numbers, of groups, squares and norms, against loops over the blocks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
E5M2, E4M3 = 23, 24
LARGEST_EXPONENT = {E5M2: 15, E4M3: 8}
TYPES = {E5M2: torch.float8_e5m2, E4M3: torch.float8_e4m3fn}


def _code(block: torch.Tensor, number: int) -> int:
    largest = float(block.abs().max())
    return 0 if largest == 0 else max(math.floor(math.log2(largest)) - LARGEST_EXPONENT[number] + 127, 0)


def _rounded(x: torch.Tensor, number: int) -> torch.Tensor:
    limit = torch.finfo(TYPES[number]).max
    return x.clamp(-limit, limit).to(TYPES[number]).float()


@pytest.mark.parametrize("number", [E5M2, E4M3])
def test_groups_of_rows(check: Check, number: int) -> None:
    torch.manual_seed(6)
    x, ends = torch.randn(150, 3).bfloat16() * torch.logspace(-3, 3, 150).unsqueeze(1), torch.tensor([70, 140])
    x = x.bfloat16()
    values, scales = torch.zeros(150, 3), torch.zeros(150 // 64 + 2, 3, 2)
    for group, (begin, end) in enumerate(((0, 70), (70, 140))):
        for column in range(3):
            for block in range(-(-(end - begin) // 32)):
                rows = slice(begin + 32 * block, min(begin + 32 * block + 32, end))
                code = _code(x[rows, column].float(), number)
                scales[begin // 64 + group + block // 2, column, block % 2] = code
                values[rows, column] = _rounded(x[rows, column].float() / 2.0 ** (code - 127), number)
    options = {"dst_type": number}
    found = npu.npu_grouped_dynamic_mx_quant(x, ends, **options)
    assert found[0].dtype is TYPES[number]
    assert torch.equal(found[0].float(), values)
    assert torch.equal(found[1], scales.to(torch.uint8))
    with pytest.raises(RuntimeError, match="Parameter blocksize only supports 32,  got 16"):
        npu.npu_grouped_dynamic_mx_quant(x, ends, blocksize=16)
    (kernel,) = check(
        "npu_grouped_dynamic_mx_quant", (x, ends), ((TYPES[number], (150, 3)), (torch.uint8, (4, 3, 2))), **options
    )
    assert kernel.op_type == "GroupedDynamicMxQuant"


def test_squares() -> None:
    torch.manual_seed(7)
    x = (torch.randn(2, 40, 70) * torch.logspace(-2, 2, 70)).half()
    values, rows, columns = torch.zeros(2, 40, 70), torch.zeros(2, 40, 2, 2), torch.zeros(2, 1, 70, 2)
    for matrix in range(2):
        for i in range(2):
            for j in range(3):
                part = (matrix, slice(32 * i, 32 * i + 32), slice(32 * j, 32 * j + 32))
                code = _code(x[part].float(), E4M3)
                rows[matrix, part[1], j // 2, j % 2] = code
                columns[matrix, i // 2, part[2], i % 2] = code
                values[part] = _rounded(x[part].float() / 2.0 ** (code - 127), E4M3)
    found = npu.npu_dynamic_block_mx_quant(x, dst_type=E4M3)
    assert torch.equal(found[0].float(), values)
    assert torch.equal(found[1], rows.to(torch.uint8))
    assert torch.equal(found[2], columns.to(torch.uint8))


def test_behind_norms(check: Check) -> None:
    torch.manual_seed(8)
    x, other, gamma, beta = torch.randn(3, 96), torch.randn(3, 96), torch.rand(96), torch.rand(96)
    total = x + other
    normed = npu.npu_rms_norm(total, gamma)[0] + beta
    values, scales = npu.npu_dynamic_mx_quant(normed, dst_type=E5M2)
    options = {"beta": beta, "dst_type": E5M2}
    found = npu.npu_add_rms_norm_dynamic_mx_quant(x, other, gamma, **options)
    same = npu.npu_rms_norm_dynamic_mx_quant(total, gamma, **options)
    for one in ((found[0], found[2], found[3]), same):
        assert torch.equal(one[0].float(), values.float())
        assert torch.equal(one[1], scales)
        torch.testing.assert_close(one[2].squeeze(1), (total.square().mean(1) + 1e-6).rsqrt())
    assert torch.equal(found[1], total)
    shown = ((TYPES[E5M2], (3, 96)), (torch.uint8, (3, 2, 2)), (torch.float32, (3, 1)))
    (kernel,) = check("npu_rms_norm_dynamic_mx_quant", (total, gamma), shown, **options)
    assert kernel.op_type == "RmsNormDynamicMxQuant"


@pytest.mark.parametrize("ratio", [None, 0.5])
def test_products_in_four_bits(check: Check, ratio: float | None) -> None:
    torch.manual_seed(9)
    x, left, right = torch.randn(2, 4, 8), torch.randn(4, 4), torch.randn(8, 8)
    turned = torch.stack([left.double() @ one.double() @ right.double() for one in x])
    largest = 7 * (ratio or 1.0)
    scale = turned.abs().amax((1, 2)) / largest
    whole = (turned / scale.reshape(-1, 1, 1)).trunc().clamp(-8, 7).long()
    words = torch.zeros(2, 4, 1, dtype=torch.long)
    for place in range(8):
        words[..., 0] |= (whole[..., place] & 15) << (4 * place)
    words = torch.where(words >= 2**31, words - 2**32, words)
    options = {} if ratio is None else {"clip_ratio": ratio}
    (kernel,) = check("npu_kronecker_quant", (x, left, right), (words, scale), **options)
    assert kernel.op_type == "FlatQuant"
