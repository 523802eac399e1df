"""HiFloat8: the numbers of its codes, rounding, and tensors that keep codes."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch
import torch_npu

npu = torch.ops.npu
HIFLOAT8 = 290
WORDS = {
    0x00: 0.0,
    0x01: 2.0**-22,
    0x07: 2.0**-16,
    0x08: 1.0,
    0x0F: 1.875,
    0x10: 2.0,
    0x18: 0.5,
    0x20: 4.0,
    0x2F: 15.0,
    0x30: 0.25,
    0x40: 16.0,
    0x5F: 0.013671875,
    0x60: 256.0,
    0x6E: 32768.0,
    0x6F: math.inf,
    0x7E: 2.0**-15,
    0x88: -1.0,
    0xEF: -math.inf,
}
"""Codes and their numbers as the package en_dtypes of the vendor has them; all 256 were compared once."""


def codes(*numbers: float) -> list[int]:
    listed: list[int] = npu.npu_dtype_cast(torch.tensor(numbers), HIFLOAT8).tolist()
    return listed


def numbers(*listed: int) -> list[float]:
    wide: list[float] = npu.npu_dtype_cast(torch.tensor(listed, dtype=torch.uint8), 256, HIFLOAT8).tolist()
    return wide


def test_codes_mean_the_published_numbers() -> None:
    assert numbers(*WORDS) == list(WORDS.values())
    assert codes(*WORDS.values()) == list(WORDS)
    assert math.isnan(numbers(0x80)[0])
    assert codes(math.nan, -0.0) == [0x80, 0]


def test_every_code_comes_back() -> None:
    every = [code for code in range(256) if code != 0x80]
    assert codes(*numbers(*every)) == every


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (1.0625, 0x09),
        (-1.0625, 0x89),
        (1.0624, 0x08),
        (2.0**-23, 0x01),
        (2.0**-23 * 0.999, 0x00),
        (40959.9, 0x6E),
        (40960.0, 0x6F),
        (-1e30, 0xEF),
    ],
)
def test_a_number_becomes_the_nearest_and_a_middle_goes_away_from_zero(number: float, code: int) -> None:
    assert codes(number) == [code]


def test_quantising_saturates() -> None:
    y, scale = npu.npu_dynamic_quant(torch.tensor([[1.0, -4.0, 2.0]]), dst_type=HIFLOAT8)
    assert scale.tolist() == [4.0 / 32768]
    assert numbers(*y[0].tolist()) == [8192.0, -32768.0, 16384.0]
    assert npu.npu_quantize(torch.tensor([1e9]), torch.tensor([1.0]), None, HIFLOAT8).tolist() == [0x6E]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_tensor_says_a_wide_type_and_keeps_codes(dtype: torch.dtype) -> None:
    short = torch_npu.HiFloat8Tensor.to_hifloat8(torch.tensor([[1.07, -3.3], [100.0, 0.3]], dtype=dtype))
    rounded = [[1.125, -3.25], [96.0, 0.3125]]
    assert (short.dtype, short._data.dtype, short.shape) == (dtype, torch.uint8, (2, 2))
    assert short.from_hifloat8().tolist() == short.cpu().tolist() == rounded
    kinds = [short.float().dtype, short.half().dtype, short.bfloat16().dtype]
    assert kinds == [torch.float32, torch.float16, torch.bfloat16]
    assert (short @ short).dtype == dtype
    assert torch.equal((short + 1).cpu(), torch.tensor(rounded, dtype=dtype) + 1)


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each.view(4),
        lambda each: each.reshape(-1),
        lambda each: each[:1],
        lambda each: each.clone(),
        lambda each: each.detach(),
        lambda each: each.contiguous(),
        lambda each: each.to_dtype(torch.float16),
        lambda each: pickle.loads(pickle.dumps(each)),
        copy.deepcopy,
    ],
)
def test_what_moves_codes_keeps_them(change: object) -> None:
    assert callable(change)
    short = torch_npu.HiFloat8Tensor.to_hifloat8(torch.tensor([[1.0, -3.25], [96.0, 0.5]]))
    changed = change(short)
    assert type(changed) is torch_npu.HiFloat8Tensor
    wide = short.cpu()
    expected = wide.half() if changed.dtype is torch.float16 else change(wide) if changed.dim() == 1 else wide
    assert torch.equal(changed.cpu(), expected[: len(changed)])


def test_what_is_written_becomes_codes_again() -> None:
    short = torch_npu.HiFloat8Tensor.to_hifloat8(torch.ones(3))
    assert short.add_(0.07) is short
    assert short.cpu().tolist() == [1.125] * 3
    short.copy_(torch.tensor([1.0, 100.0, 3.0]))
    assert short.cpu().tolist() == [1.0, 96.0, 3.0]
    wide = torch.zeros(3)
    wide.copy_(short)
    assert wide.tolist() == [1.0, 96.0, 3.0]


def test_gradients_pass_in_full_precision() -> None:
    leaf = torch.tensor([1.07, 2.0], device="npu", requires_grad=True)
    (torch_npu.HiFloat8Tensor.to_hifloat8(leaf).from_hifloat8() * torch.tensor([1.234, 1.0]).npu()).sum().backward()
    assert leaf.grad is not None
    assert leaf.grad.tolist() == torch.tensor([1.234, 1.0]).tolist()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (torch.ones(2), "data buffer with 8-bit dtype"),
        (torch.ones(2, requires_grad=True), "8-bit dtype"),
    ],
)
def test_other_data_are_refused(data: torch.Tensor, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        torch_npu.HiFloat8Tensor(data=data)


def test_a_tensor_shows_its_numbers() -> None:
    short = torch_npu.HiFloat8Tensor.to_hifloat8(torch.tensor([1.0]))
    assert repr(short).startswith("HiFloat8Tensor(data=tensor([1.]")
