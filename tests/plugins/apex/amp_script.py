"""Mixed precision as scripts use it; prints one JSON line for each question. Level O1 comes last: its casts stay."""

from __future__ import annotations

import json
import math
from typing import Any

import torch
import torch_npu
from apex import amp
from torch import nn


def say(name: str, value: Any) -> None:
    print(json.dumps({name: value}))


class Sum(nn.Module):
    """Weights of one, whose gradient is the input."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.dtype == self.weight.dtype, "the input was cast"
        return (self.weight * x).sum()


def small_steps(level: str, **options: Any) -> None:
    model = Sum().npu()
    optimizer = torch.optim.SGD([model.weight], lr=1e-4)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0, **options)
    kinds = [str(model.weight.dtype), str(model.norm.weight.dtype)]
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(torch.ones(3).npu())
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
    (master,) = amp.master_params(optimizer)
    saved = model.state_dict()["weight"]
    say(
        f"small {level} {sorted(options)}",
        [kinds, str(loss.dtype), model.weight[0].item(), master[0].item(), str(master.dtype), str(saved.dtype)],
    )


def moving_scale(level: str, bad: set[int], **options: Any) -> None:
    model = Sum().npu()
    optimizer = torch.optim.SGD([model.weight], lr=0.0)
    model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=1, **options)
    print("begin steps")
    scales = []
    for step in range(9):
        optimizer.zero_grad()
        loss = model(torch.ones(3).npu()) * (math.inf if step in bad else 0.001)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        scales.append(amp.state_dict()["loss_scaler0"]["loss_scale"])
    print("end steps")
    say(f"scales {level}", scales)


def accumulated(level: str, optimizer_class: Any, passes: int = 2, **options: Any) -> list[Any]:
    """Gradients after several backward passes without clearing, their norm, and the weights after a step."""
    torch.manual_seed(3)
    model: Any = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2)).npu()
    model.register_parameter("unused", nn.Parameter(torch.ones(2).npu()))
    optimizer = optimizer_class(model.parameters(), lr=0.1)
    if level:
        model, optimizer = amp.initialize(model, optimizer, opt_level=level, verbosity=0, loss_scale=128.0, **options)
    for step in range(2):
        optimizer.zero_grad()
        for number in range(passes):
            loss = model(torch.linspace(-1, 1, 12).reshape(3, 4).npu() * (number + 1 + step)).square().sum()
            if level:
                with amp.scale_loss(loss, optimizer) as scaled:
                    scaled.backward()
            else:
                loss.backward()
        gradients = [p.grad.flatten().tolist() for p in amp.master_params(optimizer) if p.grad is not None]
        norm = 0.0
        if options.get("combine_grad"):
            norm = optimizer.clip_optimizer_grad_norm_fused(1.0).item()
        else:
            norm = torch.nn.utils.clip_grad_norm_(list(amp.master_params(optimizer)), 1.0).item()
        optimizer.step()
    return [gradients, norm, [p.float().flatten().tolist() for p in model.parameters()]]


def refusals() -> None:
    said = {}
    for name, arguments in {
        "level": {"opt_level": "02"},
        "norms": {"opt_level": "O1", "keep_batchnorm_fp32": True},
        "patch": {"opt_level": "O2", "patch_torch_functions": True},
        "ddp": {"opt_level": "O2", "combine_ddp": True},
        "grad": {"opt_level": "O0", "combine_grad": True},
        "text": {"opt_level": "O2", "keep_batchnorm_fp32": "maybe"},
        "half": {"opt_level": "O2", "models": Sum().npu().half()},
        "host": {"opt_level": "O2", "models": Sum()},
        "models": {"models": "model"},
        "wrapped": {"models": nn.DataParallel(Sum().npu())},
    }.items():
        model: Any = arguments.pop("models", None) or Sum().npu()
        parameters = model.parameters() if isinstance(model, nn.Module) else Sum().npu().parameters()
        try:
            amp.initialize(model, torch.optim.SGD(parameters, lr=1), verbosity=0, **arguments)
        except (RuntimeError, AssertionError, TypeError) as error:
            said[name] = f"{type(error).__name__}: {error}"
    say("refusals", said)


def casts() -> None:
    half, full = torch.ones(2, 2).npu().half(), torch.ones(2, 2).npu()
    functional = nn.functional
    amp.register_float_function(torch, "sigmoid")
    decorated = amp.half_function(lambda x: x)
    model, optimizer = Sum().npu(), torch.optim.SGD(Sum().npu().parameters(), lr=1)
    amp.initialize(model, optimizer, opt_level="O1", verbosity=0, num_losses=2)
    lstm = nn.LSTM(2, 3).npu()
    found = {
        "linear": functional.linear(full, full),
        "matmul": full @ full,
        "softmax": functional.softmax(half, 0),
        "exp": half.exp(),
        "sum": half.sum(),
        "add": half + full,
        "add half": half + half,
        "cat": torch.cat([half, full]),
        "relu": functional.relu(half),
        "sigmoid": torch.sigmoid(half),
        "decorated": decorated(full),
        "lstm": lstm(full[None])[0],
        "gru cell": nn.GRUCell(2, 3).npu()(full),
        "to host": half.cpu(),
        "on host": functional.linear(full.cpu(), full.cpu()),
        "in place": half.clone().add_(full),
        "bmm": torch.bmm(half[None], half[None]),
    }
    with amp.disable_casts():
        found["disabled"] = functional.linear(full, full)
    found["after"] = functional.linear(full, full)
    say("casts", {name: str(value.dtype).partition(".")[2] for name, value in found.items()})
    for name, call in {
        "banned": lambda: functional.binary_cross_entropy(half, half),
        "in place": lambda: half.exp_(),
        "double": lambda: full + full.double(),
    }.items():
        try:
            call()
        except NotImplementedError as error:
            say(f"refused {name}", str(error).strip().splitlines()[0])
    weight = nn.Parameter(torch.ones(2, 2).npu())
    amp._amp_state.handle._clear_cache()
    loss = (functional.linear(full, weight) + functional.linear(full, weight)).sum() / 1024
    cached = len(amp._amp_state.handle.weights.kept)
    with amp.scale_loss(loss, optimizer, loss_id=1) as scaled:
        scaled.backward()
    say("weights kept", [cached, len(amp._amp_state.handle.weights.kept), (weight.grad / 64).tolist()])
    saved = amp.state_dict()
    saved["loss_scaler1"] = {"loss_scale": 8.0, "unskipped": 7}
    amp.load_state_dict(saved)
    say("state", amp.state_dict())
    amp._amp_state.handle._deactivate()
    say("deactivated", [str(functional.linear(full, full).dtype), str((half + half).exp().dtype)])


if __name__ == "__main__":
    small_steps("O0")
    small_steps("O3")
    small_steps("O2", loss_scale=64)
    small_steps("O2", keep_batchnorm_fp32="False", loss_scale="128.0")
    moving_scale("O2", {0, 1, 2, 3}, dynamic_init_scale=4.0, scale_window=2, min_loss_scale=1.0, max_loss_scale=4.0)
    refusals()
    say("accumulated plain", accumulated("", torch.optim.SGD))
    for level in ("O0", "O2"):
        say(f"accumulated {level}", accumulated(level, torch.optim.SGD))
    say("accumulated O2 combined", accumulated("O2", torch.optim.SGD, combine_grad=True, check_combined_tensors=True))
    small_steps("O2", loss_scale="dynamic", dynamic_init_scale=32.0, combine_grad=True)
    say("accumulated O1 combined", accumulated("O1", torch.optim.SGD, combine_grad=True))
    amp._amp_state.handle._deactivate()
    moving_scale("O1", {1}, combine_grad=True)
    amp._amp_state.handle._deactivate()
    model, optimizer = amp.initialize(Sum().npu(), 7, enabled=False)
    with amp.scale_loss(5, optimizer) as loss:
        say("not enabled", [optimizer, loss])
    casts()
    assert torch_npu
