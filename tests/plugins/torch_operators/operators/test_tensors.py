"""What older ports do with tensors, against PyTorch or loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def test_parts_and_padding(check: Check) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    expected = torch.zeros(2, 6, 7)
    expected[:, 1:4, 3:7] = x
    check("npu_pad", (x, [0, 0, 1, 2, 3, 0]), expected)
    check("npu_slice", (x, [0, 1, 2], [2, 2, 1]), x[:, 1:3, 2:3])
    check("npu_reshape", (x, [4, 6]), x.reshape(4, 6))
    check("reverse", (x, [0, 2]), x.flip(0, 2))
    check("npu_indexing", (x, [1, 0, 3], [2, 3, 4], [1, 2, 1]), x[1:2, 0:3:2, 3:4])
    masks = {"begin_mask": 0b010, "end_mask": 0b010, "shrink_axis_mask": 0b101}
    check("npu_indexing", (x, [1, 2, 3], [2, 2, 4], [1, 1, 1]), x[1, :, 3], **masks)
    with pytest.raises(RuntimeError, match="paddings should have two numbers for each of the 3 axes"):
        npu.npu_pad(x, [1, 1])


@pytest.mark.parametrize(("name", "largest"), [("npu_max", True), ("npu_min", False)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_extremes(name: str, largest: bool, keepdim: bool) -> None:
    x = torch.randn(3, 5, dtype=torch.double, requires_grad=True)
    values, indices = getattr(npu, name)(x, 1, keepdim)
    places = [row.index((max if largest else min)(row)) for row in x.tolist()]
    expected = torch.tensor(places, dtype=torch.int32)
    assert torch.equal(indices, expected.unsqueeze(1) if keepdim else expected)
    assert torch.equal(values.flatten(), x[range(3), places])
    assert torch.autograd.gradcheck(lambda t: getattr(npu, name)(t, 1, keepdim)[0], (x,))


def test_order_and_blocks_of_channels(check: Check) -> None:
    x, y = torch.randn(2, 48, 3), torch.randn(2, 64, 3)
    check("npu_sort_v2", (x,), x.sort().values)
    check("npu_sort_v2", (x, 1, True), x.sort(dim=1, descending=True).values)
    check("npu_stride_add", (x, y, 1, 2, 2), x[:, 16:48] + y[:, 32:64])


def test_signs_as_bits(check: Check) -> None:
    x = torch.tensor([1.0, -2, 0, -1, 3, 4, -5, 6, -7, 8])
    (kernel,) = check("npu_sign_bits_pack", (x, 1), torch.tensor([[0b10110101, 0b00000010]]))
    assert kernel.op_type == "SignBitsPack"
    words = torch.tensor([0b10110101, 0b00000010], dtype=torch.uint8)
    signs = torch.tensor([1.0, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, -1, -1, -1, -1]).reshape(2, 8)
    check("npu_sign_bits_unpack", (words, 2, torch.float16), signs)
    with pytest.raises(RuntimeError, match="2 bytes of signs should be divisible by size"):
        npu.npu_sign_bits_pack(x, 3)


def test_flags_prefetch_and_casts(kernels: Check) -> None:
    flags = npu.npu_alloc_float_status(torch.zeros(8))
    assert torch.equal(npu.npu_get_float_status(flags), torch.zeros(8))
    launched = kernels(lambda: npu.npu_clear_float_status(flags))
    assert [k.op_type for k in launched] == ["NPUClearFloatStatus"]
    x = torch.randn(3, 4, requires_grad=True)
    assert kernels(lambda: npu.npu_prefetch(x, None, 100)) == []
    half = npu._npu_dtype_cast(x, torch.float16)
    half.sum().backward()
    assert torch.equal(half, x.half())
    assert torch.equal(x.grad, torch.ones(3, 4))
    y = torch.zeros(3, 4)
    assert npu.npu_dtype_cast_(y, half.detach()) is y
    assert torch.equal(y, half.float())


def test_rows_at_repeated_places() -> None:
    x, index = torch.randn(4, 3, dtype=torch.double, requires_grad=True), torch.tensor([[1, 3], [1, 0]])
    assert torch.equal(npu.npu_gather_sparse_index(x, index), x[index])
    assert torch.autograd.gradcheck(lambda t: npu.npu_gather_sparse_index(t, index), (x,))


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
def test_gradient_of_renorm(check: Check, p: float) -> None:
    torch.manual_seed(8)
    x, grad = torch.randn(4, 8), torch.randn(4, 8)
    exact = x.double().requires_grad_()
    # Parts longer than 1 are scaled by 1 / (norm + 1e-7), as PyTorch does it.
    powers = exact.abs().pow(p).sum(1, keepdim=True).pow(1 / p)
    norms = exact.abs().amax(1, keepdim=True) if p == float("inf") else powers
    scaled = torch.where(norms > 1, exact / (norms + 1e-7), exact)
    (expected,) = torch.autograd.grad(scaled, exact, grad.double())
    launched = check("npu_renorm_backward", (grad, x, p, 0, 1.0), expected)
    assert [kernel.op_type for kernel in launched] == ["LpNormV2", "Mul", "ReduceSum", "Mul", "SelectV2"]
