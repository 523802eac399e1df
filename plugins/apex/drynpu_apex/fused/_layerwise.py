"""Optimizers that look at each parameter inside its buffer: Lamb and AdamP, and Adam as BERT has it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch.optim.optimizer import ParamsT

from drynpu_apex.fused._base import NpuFusedOptimizerBase, Slice
from drynpu_apex.fused._optimizers import check_betas, check_positive


class NpuFusedLamb(NpuFusedOptimizerBase):
    """
    Lamb: Adam without bias correction, each step scaled by the norm of the parameter over the norm of the step.

    Parameters
    ----------
    adam:
        Whether the steps are not scaled.
    use_global_grad_norm:
        Whether gradients are divided by their norm where that is above 1.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        adam: bool = False,
        use_global_grad_norm: bool = False,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", eps)
        check_betas(betas)
        self.adam = adam
        self.use_global_grad_norm = use_global_grad_norm
        self.global_grad_norm = 1.0
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _begin_step(self, parts: Sequence[Slice]) -> None:
        if self.use_global_grad_norm:
            self.global_grad_norm = whole_norm(parts)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        del group
        return ("exp_avg", "exp_avg_sq")

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        del step
        first, second = group["betas"]
        gradients = part.gradients / self.global_grad_norm if self.global_grad_norm > 1 else part.gradients
        mean = part.state["exp_avg"].mul_(first).add_(gradients, alpha=1 - first)
        square = part.state["exp_avg_sq"].mul_(second).addcmul_(gradients, gradients, value=1 - second)
        change = mean / square.sqrt().add_(group["eps"])
        if group["weight_decay"] != 0:
            change.add_(part.values, alpha=group["weight_decay"])
        ratios = torch.ones_like(change)
        if not self.adam:
            rows = zip(
                _divided(part, part.values.pow(2)), _divided(part, change.pow(2)), _divided(part, ratios), strict=True
            )
            for values, steps, ratio in rows:
                of_values, of_step = values.sum().sqrt().clamp(0, 10), steps.sum().sqrt()
                if of_values != 0 and of_step != 0:
                    ratio.fill_(of_values / of_step)
        part.values.addcmul_(change, ratios, value=-group["lr"])


class NpuFusedAdamP(NpuFusedOptimizerBase):
    """
    AdamP: Adam whose steps keep no part along the parameter where the gradient is nearly at right angles to it.

    Parameters
    ----------
    delta:
        The largest cosine, times the root of the length, that counts as a right angle.
    wd_ratio:
        What weight decay is multiplied with there.
    nesterov:
        Whether momentum looks ahead.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        delta: float = 0.1,
        wd_ratio: float = 0.1,
        nesterov: bool = False,
    ) -> None:
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"delta": delta, "wd_ratio": wd_ratio, "nesterov": nesterov})

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        del group
        return ("exp_avg", "exp_avg_sq")

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        first, second = group["betas"]
        gradients, decay = part.gradients, group["weight_decay"]
        mean = part.state["exp_avg"].mul_(first).add_(gradients, alpha=1 - first)
        square = part.state["exp_avg_sq"].mul_(second).addcmul_(gradients, gradients, value=1 - second)
        scale = (square.sqrt() / math.sqrt(1 - second**step)).add_(group["eps"])
        ahead = mean * first + gradients * (1 - first) if group["nesterov"] else mean
        change = ahead / scale
        ratios = torch.ones_like(change)
        pieces = [_divided(part, each) for each in (gradients, change, ratios)]
        for parameter, gradient, piece, ratio in zip(part.parameters, *pieces, strict=True):
            if parameter.dim() > 1 and _project(parameter, gradient, piece, group):
                ratio.fill_(group["wd_ratio"])
        if decay > 0:
            part.values.mul_(1 - group["lr"] * decay * ratios)
        part.values.add_(change, alpha=-group["lr"] / (1 - first**step))


def warmup_cosine(x: float, warmup: float = 0.002) -> float:
    """Return the factor of a learning rate at part *x* of the training: it rises, then follows a cosine."""
    return x / warmup if x < warmup else 0.5 * (1.0 + math.cos(math.pi * x))


def warmup_constant(x: float, warmup: float = 0.002) -> float:
    """Return the factor of a learning rate at part *x* of the training: it rises, then stays."""
    return x / warmup if x < warmup else 1.0


def warmup_linear(x: float, warmup: float = 0.002) -> float:
    """Return the factor of a learning rate at part *x* of the training: it rises, then falls on a line."""
    return x / warmup if x < warmup else max((x - 1.0) / (warmup - 1.0), 0.0)


def warmup_poly(x: float, warmup: float = 0.002, degree: float = 0.5) -> float:
    """Return the factor of a learning rate at part *x* of the training: it rises, then falls by a power."""
    return x / warmup if x < warmup else (1.0 - x) ** degree


SCHEDULES: Final[Mapping[str, Callable[[float, float], float]]] = {
    "warmup_cosine": warmup_cosine,
    "warmup_constant": warmup_constant,
    "warmup_linear": warmup_linear,
    "warmup_poly": warmup_poly,
}


class NpuFusedBertAdam(NpuFusedOptimizerBase):
    """
    Adam as BERT has it: no bias correction, weight decay beside the gradient, a schedule of its own.

    Parameters
    ----------
    warmup, t_total, schedule:
        The part of the *t_total* steps in which the learning rate rises, and a name of :data:`SCHEDULES`; -1 for
        *t_total* is a constant rate.
    b1, b2, e:
        The decays of the means, and what is added to the divisor.
    max_grad_norm:
        The largest norm of the gradients of a buffer; -1 does not clip.
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        warmup: float = -1,
        t_total: int = -1,
        schedule: str = "warmup_linear",
        b1: float = 0.9,
        b2: float = 0.999,
        e: float = 1e-6,
        weight_decay: float = 0.01,
        max_grad_norm: float = 1.0,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", e)
        if warmup != -1 and not 0.0 <= warmup < 1.0:
            raise ValueError(f"Invalid warmup: {warmup}")
        if schedule not in SCHEDULES:
            raise ValueError(f"Invalid schedule parameter: {schedule}")
        for name, beta in (("b1", b1), ("b2", b2)):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid {name} parameter: {beta}")
        self.max_grad_norm = max_grad_norm
        defaults = {"lr": lr, "schedule": schedule, "warmup": warmup, "t_total": t_total, "b1": b1, "b2": b2}
        super().__init__(params, defaults | {"e": e, "weight_decay": weight_decay, "max_grad_norm": max_grad_norm})

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        del group
        return ("exp_avg", "exp_avg_sq")

    def _clipped(self, part: Slice) -> torch.Tensor:
        """Return the gradients of *part*, scaled in place where their norm is above ``max_grad_norm``."""
        if self.max_grad_norm > 0:
            factor = self.max_grad_norm / (part.gradients.float().pow(2).sum().sqrt() + 1e-6)
            if factor < 1:
                part.gradients.mul_(factor)
        return part.gradients

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        gradients = self._clipped(part)
        first, second = group["b1"], group["b2"]
        mean = part.state["exp_avg"].mul_(first).add_(gradients, alpha=1 - first)
        square = part.state["exp_avg_sq"].mul_(second).addcmul_(gradients, gradients, value=1 - second)
        change = mean / (square.sqrt() + group["e"])
        if group["weight_decay"] > 0:
            change += group["weight_decay"] * part.values
        rate = group["lr"]
        if group["t_total"] != -1:
            rate *= SCHEDULES[group["schedule"]]((step - 1) / group["t_total"], group["warmup"])
        part.values.sub_(change * rate)


def whole_norm(parts: Sequence[Slice]) -> float:
    """Return the norm of the gradients of all *parts*."""
    return float(torch.stack([part.gradients.float().pow(2).sum() for part in parts]).sum().sqrt()) if parts else 0.0


def _divided(part: Slice, buffer: torch.Tensor) -> list[torch.Tensor]:
    """Return the piece of *buffer* that belongs to each parameter of *part*, in its shape."""
    pieces = torch.split(buffer, [parameter.numel() for parameter in part.parameters])
    return [piece.view(parameter.shape) for piece, parameter in zip(pieces, part.parameters, strict=True)]


def _project(parameter: torch.Tensor, gradient: torch.Tensor, change: torch.Tensor, group: Mapping[str, Any]) -> bool:
    """Take the part along *parameter* out of *change* in place, by channel or as a whole, and return whether it was."""
    eps = group["eps"]
    for rows in (parameter.shape[0], 1):
        values, slopes = parameter.view(rows, -1), gradient.view(rows, -1)
        lengths = values.norm(dim=1).add_(eps)
        cosine = (values * slopes).sum(dim=1).abs() / slopes.norm(dim=1).add_(eps) / lengths
        if cosine.max() < group["delta"] / math.sqrt(values.shape[1]):
            unit = values / lengths.view(rows, 1)
            steps = change.view(rows, -1)
            steps.sub_(unit * (unit * steps).sum(dim=1, keepdim=True))
            return True
    return False
