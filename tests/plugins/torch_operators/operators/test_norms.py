"""Normalisation against its formulas in FP64."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]
EPSILON = 1e-3


def _case(dtype: torch.dtype = torch.float32, *shape: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    shape = shape or (2, 3, 16)
    x, other = torch.randn(shape), torch.randn(shape)
    gamma, beta = torch.rand(shape[-1]) + 0.5, torch.randn(shape[-1])
    return tuple(t.to(dtype) for t in (x, other, gamma, beta))


def _rms(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rstd = 1 / torch.sqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + EPSILON)
    return x * rstd, rstd


def _layer(x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor) -> tuple[torch.Tensor, ...]:
    mean = x.sum(-1, keepdim=True) / x.shape[-1]
    rstd = 1 / torch.sqrt(((x - mean) ** 2).sum(-1, keepdim=True) / x.shape[-1] + EPSILON)
    return (x - mean) * rstd * gamma + beta, mean, rstd


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_rms_norms(check: Check, dtype: torch.dtype) -> None:
    x, other, gamma, _ = _case(dtype)
    wide, total, weight = x.double(), x.double() + other.double(), gamma.double()
    unit, rstd = _rms(wide)
    (kernel,) = check("npu_rms_norm", (x, gamma, EPSILON), (unit * weight, rstd))
    assert (kernel.name, kernel.task_type) == ("RmsNorm", TaskType.AI_VECTOR_CORE)
    assert [t.shape for t in kernel.outputs] == [(2, 3, 16), (2, 3, 1)]
    assert kernel.bytes_read == (96 + 16) * x.element_size()
    assert kernel.bytes_written == 96 * x.element_size() + 6 * 4
    check("npu_gemma_rms_norm", (x, gamma, EPSILON), (unit * (1 + weight), rstd))
    unit, rstd = _rms(total)
    (kernel,) = check("npu_add_rms_norm", (x, other, gamma, EPSILON), (unit * weight, rstd, total))
    assert kernel.op_type == "AddRmsNorm"
    check("npu_add_rms_norm_cast", (x, other, gamma, EPSILON), (unit * weight, unit * weight, rstd, total))


def test_gamma_of_another_type_keeps_the_type_of_x() -> None:
    x, _, gamma, _ = _case(torch.float16)
    y, rstd = npu.npu_rms_norm(x, gamma.float())
    assert (y.dtype, rstd.dtype) == (torch.float16, torch.float32)


def test_gamma_over_two_axes(check: Check) -> None:
    x, gamma = torch.randn(4, 3, 5), torch.rand(3, 5)
    rstd = 1 / torch.sqrt((x.double() ** 2).flatten(1).mean(1) + EPSILON).reshape(4, 1, 1)
    check("npu_rms_norm", (x, gamma, EPSILON), (x * rstd * gamma, rstd))
    backward = npu.npu_rms_norm_backward(torch.ones_like(x), x, gamma, rstd.float())
    torch.testing.assert_close(backward[1].double(), (x * rstd).sum(0))


def test_the_sum_and_the_norm_replace_the_operands(check: Check) -> None:
    x, other, gamma, _ = _case()
    unit, rstd = _rms(x.double() + other.double())
    total = x + other
    check("npu_add_rms_norm_v2_functional", (x, other, gamma, EPSILON), (rstd, unit * gamma, total.double()))
    found = npu.npu_add_rms_norm_v2(x, other, gamma, EPSILON)
    torch.testing.assert_close(x.double(), unit * gamma, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(other, total)
    torch.testing.assert_close(found.double(), rstd, rtol=1e-5, atol=1e-5)


def test_quantised_norms(check: Check) -> None:
    x, other, gamma, beta = _case()
    total = x.double() + other.double()
    y = _rms(total)[0] * gamma + beta
    scale, zero, smooth = torch.full((16,), 0.02), torch.full((16,), 3.0), torch.rand(16) + 0.5
    first, times = torch.round(y / 0.02 + 3).clamp(-128, 127), torch.round(y * 0.02).clamp(-128, 127)
    args = (x, other, gamma, scale, zero, beta)
    check("npu_add_rms_norm_quant", args, (first, (torch.int8, (2, 3, 16)), total), epsilon=EPSILON)
    args = (x, other, gamma, scale, None, beta, scale)
    check("npu_add_rms_norm_quant", args, (times, times, total), epsilon=EPSILON, div_mode=False)
    args = (x, gamma, beta, torch.tensor([9.0]), torch.tensor([2.0]), EPSILON)
    check("npu_rms_norm_quant", args, torch.round((_rms(x.double())[0] * gamma + beta) * 9 + 2).clamp(-128, 127))
    amax = (y * smooth).abs().amax(-1)
    rows = torch.round(y * smooth / (amax / 127).unsqueeze(-1))
    unwanted = (torch.int8, (1,)), (torch.float32, (1,))
    (kernel,) = check(
        "npu_add_rms_norm_dynamic_quant",
        (x, other, gamma),
        (rows, unwanted[0], total, amax / 127, unwanted[1]),
        smooth_scale1=smooth,
        beta=beta,
        epsilon=EPSILON,
    )
    assert kernel.op_type == "AddRmsNormDynamicQuant"


def test_layer_norms(check: Check) -> None:
    x, other, gamma, beta = _case()
    y, mean, rstd = _layer(0.3 * x.double() + other.double(), gamma, beta)
    (kernel,) = check("npu_deep_norm", (x, other, beta, gamma, 0.3, EPSILON), (mean, rstd, y))
    assert kernel.op_type == "DeepNorm"
    total = x.double() + other.double()
    y, mean, rstd = _layer(total, gamma, beta)
    (kernel,) = check("npu_add_layer_norm", (x, other, gamma, beta, EPSILON), (y, mean, rstd, total))
    assert kernel.op_type == "AddLayerNorm"
    y, _, _ = _layer(x.double(), gamma, beta)
    (kernel,) = check("npu_layer_norm_eval", (x, [16], gamma, beta, EPSILON), y)
    assert kernel.op_type == "LayerNormV3"


@pytest.mark.parametrize("swish", [False, True])
def test_group_norms(check: Check, swish: bool) -> None:
    x, weight, bias = torch.randn(2, 6, 4, 5), torch.rand(6), torch.randn(6)
    rows = x.double().reshape(2, 3, 40)
    mean, variance = rows.mean(-1), rows.var(-1, unbiased=False)
    unit = ((rows - mean[..., None]) / torch.sqrt(variance[..., None] + EPSILON)).reshape(x.shape)
    y = unit * weight[:, None, None] + bias[:, None, None]
    rstd = 1 / torch.sqrt(variance + EPSILON)
    if swish:
        results = (y / (1 + torch.exp(-1.5 * y)), mean, rstd)
        (kernel,) = check("npu_group_norm_swish", (x, 3, weight, bias, EPSILON, 1.5), results)
    else:
        (kernel,) = check("npu_group_norm_silu", (x, weight, bias, 3, EPSILON), (y / (1 + torch.exp(-y)), mean, rstd))
    assert kernel.op_type == ("GroupNormSwish" if swish else "GroupNormSilu")


def test_gradients() -> None:
    x, other, gamma, beta = (t.double().requires_grad_() for t in _case(torch.float64, 2, 5))
    assert torch.autograd.gradcheck(lambda *a: npu.npu_rms_norm(*a, EPSILON)[0], (x, gamma))
    assert torch.autograd.gradcheck(lambda *a: npu.npu_deep_norm(*a, 0.7, EPSILON)[2], (x, other, beta, gamma))
    assert torch.autograd.gradcheck(lambda *a: npu.npu_add_layer_norm(*a, EPSILON)[::3], (x, other, gamma, beta))
    image, weight, bias = (torch.randn(s, dtype=torch.double, requires_grad=True) for s in ((2, 4, 3), (4,), (4,)))
    assert torch.autograd.gradcheck(lambda x, *a: npu.npu_group_norm_swish(x, 2, *a)[0], (image, weight, bias))


def test_the_backward_pass_launches_its_kernel(kernels: Check) -> None:
    x, _, gamma, _ = _case()
    x.requires_grad_()
    gamma.requires_grad_()
    launched = kernels(lambda: npu.npu_rms_norm(x, gamma)[0].sum().backward())
    assert [k.op_type for k in launched] == ["RmsNorm", "RmsNormGrad"]
    assert launched[1].task_type is TaskType.MIX_AIV
    assert x.grad is not None
    assert gamma.grad is not None


def test_what_the_vendor_does_not_differentiate_gives_no_gradient() -> None:
    x, other, gamma, _ = _case()
    y = npu.npu_add_rms_norm(x.requires_grad_(), other, gamma)[0]
    with pytest.warns(UserWarning, match=re.escape("npu::npu_add_rms_norm: an autograd kernel was not registered")):
        y.sum().backward()
    assert x.grad is None


def test_misuse() -> None:
    x, other, gamma, _ = _case()
    with pytest.raises(RuntimeError, match="call aclnnRmsNorm failed, error code is 161002"):
        npu.npu_rms_norm(x, gamma[:-1])
    with pytest.raises(RuntimeError, match=r"axis should be -1, but got 0\.\n\[ERROR\].*ERR01001 OPS invalid param"):
        npu.npu_add_rms_norm_quant(x, other, gamma, gamma, None, axis=0)
