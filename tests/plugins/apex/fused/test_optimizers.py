"""Optimizers over combined tensors against ``torch.optim``, which computes each parameter by itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import nn

from drynpu_apex.fused import (
    NpuFusedAdadelta,
    NpuFusedAdam,
    NpuFusedAdamW,
    NpuFusedRMSprop,
    NpuFusedSGD,
    combine,
    combined_part,
    is_combined,
)
from drynpu_torch.install import install

PAIRS = [
    (NpuFusedAdamW, torch.optim.AdamW, {"weight_decay": 0.2}),
    (NpuFusedAdamW, torch.optim.AdamW, {"amsgrad": True, "betas": (0.8, 0.95)}),
    (NpuFusedAdam, torch.optim.Adam, {"weight_decay": 0.2}),
    (NpuFusedSGD, torch.optim.SGD, {"weight_decay": 0.1}),
    (NpuFusedSGD, torch.optim.SGD, {"momentum": 0.9, "dampening": 0.2}),
    (NpuFusedSGD, torch.optim.SGD, {"momentum": 0.8, "nesterov": True}),
    (NpuFusedAdadelta, torch.optim.Adadelta, {"weight_decay": 0.1}),
    (NpuFusedRMSprop, torch.optim.RMSprop, {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    (NpuFusedRMSprop, torch.optim.RMSprop, {}),
]


@pytest.fixture(autouse=True)
def _device() -> None:
    install()


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to("npu")


def groups(model: nn.Sequential) -> list[dict[str, Any]]:
    return [{"params": list(model[0].parameters())}, {"params": list(model[2].parameters()), "lr": 0.003}]


def train(model: nn.Sequential, optimizer: Any, steps: range) -> None:
    for step in steps:
        inputs = torch.randn(7, 3, generator=torch.Generator().manual_seed(step)).to("npu")
        model(inputs).square().sum().backward()
        optimizer.step()
        if step % 2:
            model.zero_grad()  # to None, as most training loops do
        else:
            optimizer.zero_grad()


def assert_same(model: nn.Module, other: nn.Module) -> None:
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one.cpu(), two.cpu(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("fused", "plain", "options"), PAIRS)
def test_weights_are_those_of_plain_pytorch(fused: Any, plain: Any, options: dict[str, Any]) -> None:
    ours, theirs = network(), network()
    train(ours, fused(groups(ours), lr=0.05, **options), range(6))
    train(theirs, plain(groups(theirs), lr=0.05, **options), range(6))
    assert_same(ours, theirs)


def test_parameters_and_gradients_lie_in_one_buffer() -> None:
    model = network()
    optimizer = NpuFusedAdamW(groups(model))
    train(model, optimizer, range(1))
    values, halves = optimizer.get_combined_params()
    gradients, _ = optimizer.get_combined_grads()
    assert halves is None
    assert values is not None
    assert values.shape == gradients.shape == (3 * 5 + 5 + 5 * 2 + 2,)
    assert is_combined(values, list(model.parameters()))
    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    assert torch.equal(values.cpu(), flat.cpu())


def test_a_loaded_state_goes_on_where_it_was_saved() -> None:
    model = network()
    optimizer = NpuFusedAdamW(groups(model), lr=0.05)
    train(model, optimizer, range(3))
    other = copy.deepcopy(model)
    again = NpuFusedAdamW(groups(other), lr=0.05)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    train(model, optimizer, range(3, 6))
    train(other, again, range(3, 6))
    assert_same(model, other)


def test_gradients_are_clipped_by_their_norm() -> None:
    model, other = network(), network()
    optimizer = NpuFusedSGD(groups(model), lr=0.1)
    for each in (model, other):
        each(torch.ones(4, 3).to("npu")).square().sum().backward()
    norm = optimizer.clip_grad_norm_fused_(0.25)
    expected = nn.utils.clip_grad_norm_(other.parameters(), 0.25)
    torch.testing.assert_close(norm.cpu(), expected.cpu())
    for one, two in zip(model.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one.grad, two.grad)


def test_half_precision_has_a_buffer_of_its_own_and_bfloat16_is_refused() -> None:
    model = network().half()
    optimizer = NpuFusedSGD(groups(model), lr=0.5)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer.step()
    assert optimizer.get_combined_params()[0] is None
    for rate, was, now in zip((0.5, 0.5, 0.003, 0.003), before, model.parameters(), strict=True):
        assert torch.equal(was.add(torch.ones_like(was), alpha=-rate), now)
    wide = network().bfloat16()
    for parameter in wide.parameters():
        parameter.grad = torch.ones_like(parameter)
    with pytest.raises(TypeError, match=r"must be either float32 or float16, but received torch.bfloat16"):
        NpuFusedSGD(groups(wide), lr=0.1).step()


def test_the_vendors_refusals() -> None:
    model = network()
    with pytest.raises(ValueError, match="set_to_none is not supported in fused optimizers"):
        NpuFusedAdam(model.parameters()).zero_grad(set_to_none=True)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        NpuFusedAdam(model.parameters(), lr=-1)
    with pytest.raises(ValueError, match="Nesterov momentum requires a momentum"):
        NpuFusedSGD(model.parameters(), lr=1, nesterov=True)


def test_tensors_are_combined_with_or_without_their_values() -> None:
    first, second = torch.tensor([[1.0, 2.0]]).to("npu"), torch.tensor([3.0]).to("npu")
    buffer = combine([first, second])
    assert buffer is not None
    assert buffer.tolist() == [1.0, 2.0, 3.0]
    buffer.add_(10)
    assert (first.tolist(), second.tolist()) == ([[11.0, 12.0]], [13.0])
    part = combined_part(buffer, 1, 2)
    assert part is not None
    assert part.tolist() == [12.0, 13.0]
    assert is_combined(buffer, [first, second])
    assert not is_combined(buffer, [torch.ones(2)])
    empty = combine([first, second], require_copy_value=False)
    assert empty is not None
    assert empty.tolist() == [0.0] * 3
    assert combine([]) is None


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ([torch.ones(2), None], "must not have `None`"),
        ([torch.ones(2), torch.ones(2).half()], "must have the same dtype"),
        ([torch.ones(4, 2).t()], "must be contiguous"),
    ],
)
def test_tensors_that_cannot_be_combined(tensors: list[Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        combine(tensors)
    with pytest.raises(RuntimeError, match=r"\(index \+ size\) \(5\) > "):
        combined_part(torch.ones(4), 2, 3)
