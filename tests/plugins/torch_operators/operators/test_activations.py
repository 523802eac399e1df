"""Activations against their formulas in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def _x(*shape: int) -> torch.Tensor:
    torch.manual_seed(2)
    return torch.randn(shape or (3, 4, 10)) * 2


def _sigmoid(x: torch.Tensor) -> torch.Tensor:
    return 1 / (1 + torch.exp(-x))


def _gelu(x: torch.Tensor, approximate: str) -> torch.Tensor:
    if approximate == "tanh":
        return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "formula", "kernel"),
    [
        ("npu_fast_gelu", lambda x: x * _sigmoid(1.702 * x), "FastGelu"),
        ("fast_gelu", lambda x: x * _sigmoid(1.702 * x), "FastGelu"),
        ("npu_gelu", lambda x: _gelu(x, "none"), "GeluV2"),
        ("npu_silu", lambda x: x * _sigmoid(x), "Swish"),
        ("npu_mish", lambda x: x * torch.tanh(torch.log1p(torch.exp(x))), "Mish"),
    ],
)
def test_of_one_tensor(check: Check, name: str, formula: Check, kernel: str, dtype: torch.dtype) -> None:
    x = _x().to(dtype)
    (launched,) = check(name, (x,), formula(x.double()))
    assert launched.op_type == kernel
    grad = _x(2, 3).double().requires_grad_()
    assert torch.autograd.gradcheck(getattr(npu, name), (grad,))


@pytest.mark.parametrize("dim", [-1, 1])
def test_swiglu(check: Check, kernels: Check, dim: int) -> None:
    x = _x()
    half = x.shape[dim] // 2
    first, second = (x.double().narrow(dim, start, half) for start in (0, half))
    (kernel,) = check("npu_swiglu", (x, dim), first * _sigmoid(first) * second)
    assert (kernel.op_type, kernel.name) == ("SwiGlu", "SwiGlu")
    x = x.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: npu.npu_swiglu(x, dim), (x,))
    backward = kernels(npu.npu_swiglu(x.float(), dim).sum().backward)
    assert [k.op_type for k in backward] == ["SwiGluGrad"]


@pytest.mark.parametrize("interleaved", [True, False])
def test_clipped_swiglu(check: Check, interleaved: bool) -> None:
    x, index = _x(6, 8), torch.tensor([1, 3])
    wide = x.double()
    gate, linear = (wide[:, ::2], wide[:, 1::2]) if interleaved else (wide[:, :4], wide[:, 4:])
    gate, linear = gate.clamp(max=1.5), linear.clamp(-1.5, 1.5)
    expected = gate * _sigmoid(1.1 * gate) * (linear + 0.5)
    expected[4:] = 0
    options = {"group_index": index, "alpha": 1.1, "limit": 1.5, "bias": 0.5, "interleaved": interleaved}
    check("npu_clipped_swiglu", (x,), expected, **options)


@pytest.mark.parametrize("approximate", [0, 1])
@pytest.mark.parametrize("left", [False, True])
def test_geglu(check: Check, approximate: int, left: bool) -> None:
    x = _x()
    first, second = x.double()[..., :5], x.double()[..., 5:]
    gelu = _gelu(first if left else second, ("none", "tanh")[approximate])
    check("npu_geglu", (x, -1, approximate, left), (gelu * (second if left else first), gelu))
    inputs = (_x(2, 6).double().requires_grad_(),)
    assert torch.autograd.gradcheck(lambda x: npu.npu_geglu(x, -1, approximate, left)[0], inputs)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_with_keywords(check: Check, approximate: str) -> None:
    x = _x()
    check("npu_gelu", (x,), _gelu(x.double(), approximate), approximate=approximate)
    expected = _gelu(x.double()[..., :5], approximate) * x.double()[..., 5:]
    check("npu_gelu_mul", (x,), expected, approximate=approximate)


def test_silu_in_place() -> None:
    x = _x()
    expected = (x.double() * _sigmoid(x.double())).float()
    assert npu.npu_silu_(x) is x
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("triangle", [False, True])
def test_scaled_masked_softmax(check: Check, triangle: bool) -> None:
    x, mask = _x(2, 3, 32, 32), torch.rand(2, 1, 32, 32) < 0.3
    mask[0, 0, 3] = True
    dropped = torch.triu(torch.ones(32, 32), 1).bool() if triangle else mask
    scores = torch.where(dropped, torch.tensor(-10000.0, dtype=torch.double), 0.5 * x.double())
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    (kernel,) = check("npu_scaled_masked_softmax", (x, mask, 0.5, triangle), weights / weights.sum(-1, keepdim=True))
    assert kernel.op_type == "ScaledMaskedSoftmax"
    small = _x(1, 2, 4, 4).double().requires_grad_()
    some = torch.triu(torch.ones(4, 4), 1).bool()
    assert torch.autograd.gradcheck(lambda x: npu.npu_scaled_masked_softmax(x, some, 0.5, triangle), (small,))


def test_misuse() -> None:
    with pytest.raises(RuntimeError, match=r"161002.*\n.*\n?.*of x should be divisible by 2, but get \[3\]"):
        npu.npu_swiglu(torch.ones(2, 3))
