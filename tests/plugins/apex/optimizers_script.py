"""The optimizers of apex through ``apex.amp``: one JSON line of weights for each optimizer, level and option."""

from __future__ import annotations

import json
import sys
from typing import Any

import apex
import torch
import torch_npu
from apex import amp
from apex.contrib.combine_tensors import combine_npu
from apex.optimizers import npu_fused_bert_adam
from torch import nn

OPTIONS: dict[str, dict[str, Any]] = {
    "NpuFusedSGD": {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
    "NpuFusedAdam": {"weight_decay": 0.1, "amsgrad": True},
    "NpuFusedAdamW": {"weight_decay": 0.1},
    "NpuFusedAdadelta": {"weight_decay": 0.1},
    "NpuFusedRMSprop": {"momentum": 0.9, "centered": True},
    "NpuFusedAdamP": {"weight_decay": 0.1},
    "NpuFusedLamb": {"weight_decay": 0.1, "use_global_grad_norm": True},
    "NpuFusedBertAdam": {"max_grad_norm": 1.0},
    "NpuFusedRMSpropTF": {"momentum": 0.9},
    "Lamb": {"weight_decay": 0.1},
}


def network() -> Any:
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.BatchNorm1d(6), nn.Linear(6, 3)).npu()


def train(model: Any, optimizer: Any, *, scales: bool, steps: range) -> None:
    for step in steps:
        inputs = torch.linspace(-1, 1, 32).reshape(8, 4).npu() * (step + 1)
        loss = model(inputs).square().mean()
        model.zero_grad() if step % 2 else optimizer.zero_grad()
        if scales:
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
        else:
            loss.backward()
        optimizer.step()


def weights(model: Any) -> list[float]:
    return torch.cat([parameter.detach().float().flatten().cpu() for parameter in model.parameters()]).tolist()


def optimizer_of(kind: Any, model: Any, options: dict[str, Any]) -> Any:
    """Two groups; what divides by a fresh mean of squares takes steps of ten times the rate."""
    rate = 0.002 if "RMS" in kind.__name__ else 2.0 if "delta" in kind.__name__ else 0.02
    rows = [{"params": list(model[0].parameters())}, {"params": list(model[1:].parameters()), "lr": rate / 2}]
    return kind(rows, lr=rate, **options)


def through_amp(kind: Any, options: dict[str, Any], level: str, combine: bool) -> list[float]:
    model = network()
    optimizer = optimizer_of(kind, model, options)
    model, optimizer = amp.initialize(
        model, optimizer, opt_level=level, verbosity=0, loss_scale=32.0, combine_grad=combine
    )
    train(model, optimizer, scales=True, steps=range(2))
    optimizer.load_state_dict(optimizer.state_dict())
    train(model, optimizer, scales=True, steps=range(2, 4))
    return weights(model)


def without_amp(kind: Any, options: dict[str, Any]) -> list[float]:
    model = network()
    optimizer = optimizer_of(kind, model, options)
    train(model, optimizer, scales=False, steps=range(4))
    return weights(model)


class Standing(torch.optim.Optimizer):
    """An optimizer of a model's own, as ModelZoo has many: it asks amp for the buffers of each group."""

    def __init__(self, params: Any, lr: float) -> None:
        self.is_npu_fused_optimizer = True
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        stash = self._amp_stash
        self._check_already_combined_params_and_grads()
        self._combine_params_and_grads_by_group()
        if not stash.param_states_are_combined_by_group:
            velocities = [[torch.zeros_like(p) for p in part] for part in stash.params_lists_indexed_by_group[0]]
            stash.combined_param_states_indexed_by_group = [combine_npu(part) for part in velocities]
            stash.param_states_are_combined_by_group = True
        for index, group in enumerate(self.param_groups):
            rows = zip(
                stash.combined_params_indexed_by_group[index], stash.combined_grads_indexed_by_group[index], strict=True
            )
            for values, gradients in rows:
                values.add_(gradients, alpha=-group["lr"])


class Deriving(apex.optimizers.NpuFusedAdam):
    """An optimizer of the vendor's with the step of a group replaced."""

    def _group_step(self, group_index: int) -> None:
        stash = self._amp_stash
        rows = zip(
            stash.combined_params_indexed_by_group[group_index],
            stash.combined_grads_indexed_by_group[group_index],
            stash.combined_param_states_indexed_by_group[group_index],
            strict=True,
        )
        for values, gradients, state in rows:
            state["step"] += 1
            state["exp_avg"].copy_(gradients)
            values.sub_(state["exp_avg"] * self.param_groups[group_index]["lr"])


if __name__ == "__main__":
    plain = {name: getattr(torch_npu.optim, name, None) for name in OPTIONS}
    found: dict[str, Any] = {"start": weights(network())}
    for name, options in OPTIONS.items():
        kind = getattr(apex.optimizers, name)
        other = dict(options)
        if name == "NpuFusedBertAdam":
            other.update(max_grad_norm=-1, b2=0.99)
            options = {"max_grad_norm": -1}
        found[name] = {"plain": without_amp(plain[name] or kind, other)}
        for combine in (True, False):
            found[name][f"O2 {combine}"] = through_amp(kind, options, "O2", combine)
            found[name][f"O1 {combine}"] = through_amp(kind, options, "O1", combine)
            amp._amp_state.handle._deactivate()
    said = []
    for call in (
        lambda: apex.optimizers.NpuFusedSGD(network().parameters(), lr=1).step(),
        lambda: apex.optimizers.FusedAdam(network().parameters()),
        lambda: apex.optimizers.FusedSGD(network().parameters(), lr=1),
        lambda: apex.optimizers.FusedLAMB(network().parameters()),
        lambda: apex.optimizers.FusedNovoGrad(network().parameters()),
        lambda: apex.optimizers.FusedAdagrad(network().parameters()),
        lambda: amp.initialize(network(), apex.optimizers.NpuFusedAdam(network().parameters()), opt_level="O0"),
        lambda: apex.multi_tensor_applier(None, None, []),
        lambda: apex.fp16_utils.FP16_Optimizer(torch.optim.SGD(network().parameters(), lr=1)),
        lambda: apex.normalization.fused_layer_norm.fused_layer_norm(torch.ones(2).npu(), (2,)),
    ):
        try:
            call()
        except (RuntimeError, TypeError, ImportError) as error:
            said.append(f"{type(error).__name__}: {error.args[0]}")
    found["said"] = said
    found["schedules"] = sorted(npu_fused_bert_adam.SCHEDULES)
    model = network()
    optimizer = apex.optimizers.NpuFusedSGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O2", verbosity=0, combine_grad=True)
    early = optimizer.get_optimizer_combined_grads()
    train(model, optimizer, scales=True, steps=range(1))
    found["buffers"] = [
        early,
        [[each is not None and each.numel(), str(each is not None and each.dtype)] for each in row]
        if (row := optimizer.get_model_combined_grads())
        else [],
        [each.numel() for each in optimizer.get_optimizer_combined_params()],
        [float(each.sum()) for each in optimizer.get_optimizer_combined_grad_masks()],
        apex.contrib.combine_tensors.is_combined_tensor_valid(
            optimizer.get_optimizer_combined_params()[0], list(optimizer._amp_stash.all_fp32_from_fp16_params)
        ),
    ]
    found["own"] = [through_amp(kind, {}, "O2", True) for kind in (Standing, Deriving, torch.optim.SGD)]
    json.dump(found, sys.stdout)
