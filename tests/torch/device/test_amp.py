"""Autocast and gradient scaling under the device's names."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
import torch

CONTEXTS: dict[str, Callable[..., AbstractContextManager]] = {
    "torch.autocast": lambda **how: torch.autocast("npu", **how),
    "torch.amp.autocast": lambda **how: torch.amp.autocast(device_type="npu", **how),
    "torch.npu.amp.autocast": lambda **how: torch.npu.amp.autocast(**how),
}


@pytest.mark.parametrize("name", CONTEXTS)
def test_products_run_in_the_lower_precision(name: str) -> None:
    x = torch.rand(4, 4, device="npu")
    with CONTEXTS[name]():
        assert (x @ x).dtype is torch.float16, "the device's default, where CPU autocast has bfloat16"
        assert torch.is_autocast_enabled("npu")
        assert torch.get_autocast_dtype("npu") is torch.float16
        with CONTEXTS[name](enabled=False):
            assert (x @ x).dtype is torch.float32
    with CONTEXTS[name](dtype=torch.bfloat16):
        low = x @ x
        assert low.dtype is torch.bfloat16
        assert torch.get_autocast_dtype("npu") is torch.bfloat16
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(x.cpu() @ x.cpu(), low.cpu())
    assert (x @ x).dtype is torch.float32
    assert not torch.is_autocast_enabled("npu")
    assert torch.get_autocast_dtype("npu") is torch.float16


def test_autocast_decorates_and_refuses_other_dtypes() -> None:
    x = torch.rand(2, 2, device="npu")
    assert torch.autocast("npu")(lambda: x @ x)().dtype is torch.float16
    with pytest.warns(UserWarning, match="In npu autocast, but the target dtype is not supported"):
        refused = torch.autocast("npu", dtype=torch.float64)
    with refused:
        assert (x @ x).dtype is torch.float32


def test_autocast_by_hand() -> None:
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_enabled("npu", True)
    torch.set_autocast_dtype("npu", torch.bfloat16)
    try:
        there = torch.ones(2, 2, device="npu")
        assert (there @ there).dtype is torch.bfloat16
    finally:
        torch.set_autocast_enabled("npu", False)
        torch.clear_autocast_cache()
        torch.set_autocast_dtype("npu", torch.float16)
        torch.set_autocast_dtype("cpu", before)


@pytest.mark.parametrize("decorate", ["torch.amp", "torch.npu.amp"])
def test_custom_functions_cast_their_inputs(decorate: str) -> None:
    where = {"device_type": "npu"} if decorate == "torch.amp" else {}
    module = torch.amp if decorate == "torch.amp" else torch.npu.amp
    seen: list[torch.dtype] = []

    class Double(torch.autograd.Function):
        @staticmethod
        @module.custom_fwd(cast_inputs=torch.float32, **where)
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            seen.append(x.dtype)
            return x * 2

        @staticmethod
        def backward(ctx: object, grad: torch.Tensor) -> torch.Tensor:
            return grad * 2

    x = torch.ones(2, dtype=torch.float16, device="npu", requires_grad=True)
    with torch.autocast("npu"):
        Double.apply(x).sum().backward()
    assert seen == [torch.float32]
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.amp.GradScaler("npu", init_scale=8.0, growth_interval=1),
        lambda: torch.npu.amp.GradScaler(init_scale=8.0, growth_interval=1),
    ],
)
def test_the_scaler_scales_grows_and_backs_off(make: Callable[[], torch.amp.GradScaler]) -> None:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0], device="npu"))
    optimizer, scaler = torch.optim.SGD([weight], lr=0.5), make()
    loss = scaler.scale((weight * torch.tensor([1.0, 3.0], device="npu")).sum())
    assert loss.item() == 8.0 * 7.0
    loss.backward()
    assert weight.grad.tolist() == [8.0, 24.0]
    scaler.unscale_(optimizer)
    assert weight.grad.tolist() == [1.0, 3.0]
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 16.0
    weight.grad.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert weight.tolist() == [0.5, 0.5], "a step with infinite gradients is skipped"
    assert scaler.get_scale() == 8.0


def test_a_static_scale_stays() -> None:
    weight = torch.nn.Parameter(torch.ones(1, device="npu"))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scaler = torch.npu.amp.GradScaler(init_scale=4.0, growth_interval=1, dynamic=False)
    for _ in range(3):
        optimizer.zero_grad()
        scaler.scale(weight.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 4.0
    assert weight.item() == -2.0
