"""Quantisation against its formulas, and packed integers bit by bit."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def _x(*shape: int) -> torch.Tensor:
    torch.manual_seed(4)
    return torch.randn(shape or (6, 16)) * 3


def test_dynamic_quant(check: Check) -> None:
    x, smooth = _x(), torch.rand(16) + 0.5
    z = x.double() * smooth
    scale = z.abs().amax(-1) / 127
    (kernel,) = check("npu_dynamic_quant", (x,), (torch.round(z / scale[:, None]), scale), smooth_scales=smooth)
    assert kernel.op_type == "DynamicQuant"
    scale = x.double().abs().amax(0) / 127
    check("npu_dynamic_quant", (x,), (torch.round(x.double() / scale), scale), quant_mode="perchannel")
    scale = x.double().abs().max().reshape(1) / 127
    check("npu_dynamic_quant", (x,), (torch.round(x.double() / scale), scale), quant_mode="pertensor")


def test_rows_of_each_group_have_their_smooth_scales(check: Check) -> None:
    x, smooth, ends = _x(), torch.rand(2, 16) + 0.5, torch.tensor([2, 6])
    z = torch.cat((x[:2].double() * smooth[0], x[2:].double() * smooth[1]))
    scale = z.abs().amax(-1) / 127
    expected = torch.round(z / scale[:, None]), scale
    check("npu_dynamic_quant", (x,), expected, smooth_scales=smooth, group_index=ends)


def test_a_row_of_zeros() -> None:
    y, scale = npu.npu_dynamic_quant(torch.zeros(2, 8))
    assert not y.any()
    assert not scale.any()


def test_four_bits_and_eight_floating_bits(check: Check) -> None:
    x = _x()
    scale = x.double().abs().amax(-1) / 7
    codes = torch.round(x.double() / scale[:, None]).long()
    words = [[sum((int(c) & 15) << 4 * i for i, c in enumerate(row[w : w + 8])) for w in (0, 8)] for row in codes]
    signed = torch.tensor([[struct.unpack("<i", struct.pack("<I", word))[0] for word in row] for row in words])
    check("npu_dynamic_quant", (x,), (signed, scale), dst_type=torch.quint4x2)
    scale = x.double().abs().amax(-1) / 448
    eight = (x / scale[:, None]).to(torch.float8_e4m3fn)
    check("npu_dynamic_quant", (x,), (eight.double(), scale), dst_type=292)


def test_asymmetric(check: Check) -> None:
    x = _x()
    low, high = x.double().amin(-1), x.double().amax(-1)
    scale = (high - low) / 255
    offset = -128 - low / scale
    y = torch.round(x.double() / scale[:, None] + offset[:, None]).clamp(-128, 127)
    check("npu_dynamic_quant_asymmetric", (x,), (y, scale, offset))


def test_given_scales(check: Check) -> None:
    x, scale, zero = _x(), torch.rand(16) + 0.1, torch.arange(16.0)
    expected = (torch.round(x.double() / scale.double()) + zero).clamp(-128, 127)
    (kernel,) = check("npu_quantize", (x, scale, zero, torch.int8, 1), expected)
    assert kernel.op_type == "AscendQuantV2"
    expected = torch.round(x.double() * scale.double() + zero).clamp(-128, 127)
    check("npu_quantize", (x, scale, zero, torch.int8, -1, False), expected)


def test_scales_of_the_matrix_unit() -> None:
    scale, offset = torch.tensor([0.1, 3.7]), torch.tensor([2.6, -300.0])
    found = npu.npu_trans_quant_param(scale, offset)
    for value, shift, number in zip(scale.tolist(), (3, -256), found.tolist(), strict=True):
        bits = struct.unpack("<I", struct.pack("<f", value))[0] & 0xFFFFE000
        assert number == bits | 1 << 46 | (shift & 0x1FF) << 37
    with pytest.raises(RuntimeError, match=r"the scale shape support only \(1, \) and \(1, n\)"):
        npu.npu_trans_quant_param(torch.ones(2, 2))


def test_packed_weights_return(check: Check) -> None:
    values = torch.randint(-8, 8, (3, 16), dtype=torch.int32)
    packed = npu.npu_convert_weight_to_int4pack(values)
    assert (packed.dtype, packed.shape) == (torch.int32, (3, 2))
    expected = (values.double() + 2) * 0.5
    check("npu_anti_quant", (packed, torch.tensor([0.5])), expected, offset=torch.tensor([2.0]))
    with pytest.raises(RuntimeError, match="weight should be contiguous"):
        npu.npu_convert_weight_to_int4pack(values.t())


@pytest.mark.parametrize("left", [True, False])
def test_gate_and_quantisation(check: Check, left: bool) -> None:
    x, smooth = _x(), torch.rand(8) + 0.5
    first, second = x.double()[:, :8], x.double()[:, 8:]
    gate, linear = (first, second) if left else (second, first)
    y = gate / (1 + torch.exp(-gate)) * linear * smooth
    scale = 127 / y.abs().amax(-1)
    options = {"smooth_scales": smooth, "activate_left": left, "quant_mode": 1}
    (kernel,) = check("npu_swiglu_quant", (x,), (torch.round(y * scale[:, None]), scale), **options)
    assert kernel.op_type == "SwiGluQuant"


def test_scales_of_blocks(check: Check) -> None:
    x = _x(3, 20)
    scale = torch.stack([torch.stack([x[r : r + 2, c : c + 8].abs().max() for c in (0, 8, 16)]) for r in (0, 2)]) / 127
    full = scale.double().repeat_interleave(2, 0)[:3].repeat_interleave(8, 1)[:, :20]
    expected = torch.round(x.double() / full), scale
    check("npu_dynamic_block_quant", (x,), expected, row_block_size=2, col_block_size=8)


@pytest.mark.parametrize(("number", "largest", "limit"), [(24, 8, 448.0), (23, 15, 57344.0)])
@pytest.mark.parametrize("algorithm", [0, 1])
def test_powers_of_two_for_blocks(check: Check, number: int, largest: int, limit: float, algorithm: int) -> None:
    x = _x(3, 96) * 10
    amax = x.double().reshape(3, 3, 32).abs().amax(-1)
    exponent = torch.floor(torch.log2(amax)) - largest if algorithm == 0 else torch.ceil(torch.log2(amax / limit))
    y = (x.double().reshape(3, 3, 32) / 2 ** exponent[..., None]).reshape(3, 96)
    dtype = torch.float8_e4m3fn if number == 24 else torch.float8_e5m2
    scales = torch.cat((exponent + 127, torch.zeros(3, 1)), 1).reshape(3, 2, 2)
    expected = y.clamp(-limit, limit).float().to(dtype).double(), scales
    (kernel,) = check("npu_dynamic_mx_quant", (x,), expected, dst_type=number, scale_alg=algorithm)
    assert kernel.op_type == "DynamicMxQuant"
    down = npu.npu_dynamic_mx_quant(x.t().contiguous(), axis=0, dst_type=number, scale_alg=algorithm)
    assert down[1].shape == (2, 3, 2)
    assert torch.equal(down[1].transpose(0, 1), scales)
    both = npu.npu_dynamic_mx_quant_with_dual_axis(x, dst_type=number, scale_alg=algorithm)
    assert [t.shape for t in both] == [(3, 96), (3, 2, 2), (3, 96), (1, 96, 2)]


def test_four_floating_bits() -> None:
    values = torch.tensor([[0.0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, -6.0, 0.26, 5.1, -0.5, 1.0, 3.0, 4.0, 2.0] * 2])
    y, scale = npu.npu_dynamic_mx_quant(values)
    # The largest magnitude is 6, so the exponent of the scale is 2 - 2; middles round to the even code.
    assert scale.tolist() == [[[127, 0]]]
    codes = [0, 0, 2, 2, 4, 4, 6, 6, 15, 1, 7, 9, 2, 5, 6, 4]
    assert y.tolist() == [[codes[i] | codes[i + 1] << 4 for i in range(0, 16, 2)] * 2]


def test_misuse() -> None:
    with pytest.raises(RuntimeError, match="Input shape dim should be greater than 1"):
        npu.npu_dynamic_quant(torch.ones(3))
    with pytest.raises(RuntimeError, match="the last dim of input must be divisible by 8"):
        npu.npu_dynamic_quant(torch.ones(2, 3), dst_type=torch.quint4x2)
    with pytest.raises(RuntimeError, match=r"Param \(block_size\) must be divisible by 32"):
        npu.npu_dynamic_mx_quant(torch.ones(2, 8), block_size=33)
