"""Optimizer steps against their formulas, and against torch.optim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu_torch_operators.operators import exported

Check = Callable[..., Any]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("amsgrad", [False, True])
def test_adam_w_steps_as_torch_does(kernels: Check, maximize: bool, amsgrad: bool) -> None:
    torch.manual_seed(2)
    parameter = torch.randn(5, 3, dtype=torch.double).requires_grad_()
    options = {"lr": 0.01, "weight_decay": 0.1, "betas": (0.9, 0.99), "eps": 1e-6}
    optimizer = torch.optim.AdamW([parameter], maximize=maximize, amsgrad=amsgrad, **options)
    var, m, v = parameter.detach().clone(), torch.zeros(5, 3).double(), torch.zeros(5, 3).double()
    largest = torch.zeros(5, 3).double() if amsgrad else None
    step = exported()["npu_apply_adam_w"]
    for number in range(3):
        parameter.grad = torch.randn(5, 3, dtype=torch.double)
        optimizer.step()
        args = (0.9**number, 0.99**number, 0.01, 0.1, 0.9, 0.99, 1e-6, parameter.grad, largest, amsgrad, maximize)
        found = step(*args, out=(var, m, v))
        assert found[0] is var
        torch.testing.assert_close(var, parameter.detach())
    single = [t.float() for t in (var, m, v)]
    (kernel,) = kernels(lambda: step(*args[:7], single[0], None, False, False, out=single))
    assert (kernel.op_type, kernel.bytes_written) == ("ApplyAdamW", 3 * 15 * 4)


@pytest.mark.parametrize("nesterov", [False, True])
def test_adam(nesterov: bool) -> None:
    torch.manual_seed(3)
    var, m, v, grad = (torch.rand(6) for _ in range(4))
    first = 0.9 * m.double() + 0.1 * grad.double()
    second = 0.99 * v.double() + 0.01 * grad.double() ** 2
    ahead = 0.9 * first + 0.1 * grad.double() if nesterov else first
    expected = var.double() - 0.02 * (1 - 0.99**2) ** 0.5 / (1 - 0.9**2) * ahead / (second.sqrt() + 1e-3)
    args = (0.9**2, 0.99**2, 0.02, 0.9, 0.99, 1e-3, grad, None, nesterov)
    exported()["npu_apply_adam"](*args, out=(var, m, v))
    for found, want in ((var, expected), (m, first), (v, second)):
        torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-6)


def test_misuse() -> None:
    x, step = torch.ones(2), exported()["npu_apply_adam_w"]
    args = (0.9, 0.99, 0.01, 0.1, 0.9, 0.99, 1e-6, x, None)
    with pytest.raises(RuntimeError, match="npu_apply_adam_w is not implemented for Tensor"):
        step(*args, False, False)
    with pytest.raises(RuntimeError, match="if amsgrad is true, max_grad_norm input must be entered"):
        step(*args, True, False, out=(x, x.clone(), x.clone()))


def test_powers_of_one_divide_by_zero_as_on_a_device() -> None:
    var, m, v = (torch.ones(2) for _ in range(3))
    exported()["npu_apply_adam"](1.0, 0.5, 0.1, 0.9, 0.99, 1e-6, torch.ones(2), False, False, out=(var, m, v))
    assert var.tolist() == [float("-inf")] * 2
