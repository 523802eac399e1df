"""The optimizers: the formulas of ``torch.optim``, on whole buffers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.optim.optimizer import ParamsT

from drynpu_apex.fused._base import NpuFusedOptimizerBase, Slice


class NpuFusedAdam(NpuFusedOptimizerBase):
    """Adam: ``torch.optim.Adam``, weight decay added to the gradient."""

    _decoupled = False

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", eps)
        check_positive("weight_decay value", weight_decay)
        check_betas(betas)
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad}
        super().__init__(params, defaults)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        first, second = group["betas"]
        gradients = part.gradients
        if self._decoupled:
            part.values.mul_(1 - group["lr"] * group["weight_decay"])
        elif group["weight_decay"] != 0:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        mean = part.state["exp_avg"].mul_(first).add_(gradients, alpha=1 - first)
        square = part.state["exp_avg_sq"].mul_(second).addcmul_(gradients, gradients, value=1 - second)
        if group["amsgrad"]:
            square = torch.max(part.state["max_exp_avg_sq"], square, out=part.state["max_exp_avg_sq"])
        scale = (square.sqrt() / math.sqrt(1 - second**step)).add_(group["eps"])
        part.values.addcdiv_(mean, scale, value=-group["lr"] / (1 - first**step))


class NpuFusedAdamW(NpuFusedAdam):
    """AdamW: ``torch.optim.AdamW``, weight decay beside the gradient."""

    _decoupled = True

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)


class NpuFusedSGD(NpuFusedOptimizerBase):
    """Stochastic gradient descent with momentum: ``torch.optim.SGD``."""

    def __init__(
        self,
        params: ParamsT,
        lr: float,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("momentum value", momentum)
        check_positive("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening}
        super().__init__(params, defaults | {"weight_decay": weight_decay, "nesterov": nesterov})

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        direction = part.gradients
        if group["weight_decay"] != 0:
            direction = direction.add(part.values, alpha=group["weight_decay"])
        if group["momentum"] != 0:
            buffer = part.state["momentum_buffer"]
            if step == 1:
                buffer.copy_(direction)
            else:
                buffer.mul_(group["momentum"]).add_(direction, alpha=1 - group["dampening"])
            direction = direction.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        part.values.add_(direction, alpha=-group["lr"])


class NpuFusedAdadelta(NpuFusedOptimizerBase):
    """Adadelta: ``torch.optim.Adadelta``."""

    def __init__(
        self, params: ParamsT, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", eps)
        check_positive("weight_decay value", weight_decay)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay})

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        del group
        return ("square_avg", "acc_delta")

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        del step
        gradients, rho, eps = part.gradients, group["rho"], group["eps"]
        if group["weight_decay"] != 0:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        square = part.state["square_avg"].mul_(rho).addcmul_(gradients, gradients, value=1 - rho)
        deltas = part.state["acc_delta"]
        delta = deltas.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(gradients)
        deltas.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        part.values.add_(delta, alpha=-group["lr"])


class NpuFusedRMSprop(NpuFusedOptimizerBase):
    """RMSprop: ``torch.optim.RMSprop``."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", eps)
        check_positive("momentum value", momentum)
        check_positive("weight_decay value", weight_decay)
        check_positive("alpha value", alpha)
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"momentum": momentum, "centered": centered})

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ["momentum_buffer"] if group["momentum"] else []
        return ("square_avg", *momentum, *(["grad_avg"] if group["centered"] else []))

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        del step
        gradients, alpha = part.gradients, group["alpha"]
        if group["weight_decay"] != 0:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        square = part.state["square_avg"].mul_(alpha).addcmul_(gradients, gradients, value=1 - alpha)
        if group["centered"]:
            mean = part.state["grad_avg"].mul_(alpha).add_(gradients, alpha=1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        scale = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = part.state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(gradients, scale)
            part.values.add_(buffer, alpha=-group["lr"])
        else:
            part.values.addcdiv_(gradients, scale, value=-group["lr"])


class NpuFusedRMSpropTF(NpuFusedOptimizerBase):
    """RMSprop as TensorFlow has it: epsilon below the root, and the learning rate inside the momentum."""

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        alpha: float = 0.9,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        decoupled_decay: bool = False,
        lr_in_momentum: bool = True,
    ) -> None:
        check_positive("learning rate", lr)
        check_positive("epsilon value", eps)
        check_positive("momentum value", momentum)
        check_positive("weight_decay value", weight_decay)
        check_positive("alpha value", alpha)
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum}
        defaults |= {"centered": centered, "decoupled_decay": decoupled_decay, "lr_in_momentum": lr_in_momentum}
        super().__init__(params, defaults)

    def _state_names(self, group: dict[str, Any]) -> tuple[str, ...]:
        momentum = ["momentum_buffer"] if group["momentum"] else []
        return ("square_avg", *momentum, *(["grad_avg"] if group["centered"] else []))

    def _update(self, group: dict[str, Any], part: Slice, step: int) -> None:
        del step
        gradients, rest = part.gradients, 1 - group["alpha"]
        if group["weight_decay"] != 0 and group["decoupled_decay"]:
            part.values.add_(part.values, alpha=-group["weight_decay"])
        elif group["weight_decay"] != 0:
            gradients = gradients.add(part.values, alpha=group["weight_decay"])
        square = part.state["square_avg"]
        square.add_(gradients.pow(2) - square, alpha=rest)
        if group["centered"]:
            mean = part.state["grad_avg"]
            mean.add_(gradients - mean, alpha=rest)
            scale = square.addcmul(mean, mean, value=-1).add_(group["eps"]).sqrt_()
        else:
            scale = square.add(group["eps"]).sqrt_()
        if group["momentum"] <= 0:
            part.values.addcdiv_(gradients, scale, value=-group["lr"])
        elif group["lr_in_momentum"]:
            buffer = part.state["momentum_buffer"].mul_(group["momentum"])
            part.values.sub_(buffer.addcdiv_(gradients, scale, value=group["lr"]))
        else:
            buffer = part.state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(gradients, scale)
            part.values.add_(buffer, alpha=-group["lr"])


def check_positive(what: str, value: float) -> None:
    """Raise a ``ValueError`` that names *what* if *value* is negative."""
    if value < 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: tuple[float, float]) -> None:
    """Raise a ``ValueError`` that names the first of *betas* that is not in [0, 1)."""
    for index, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {beta}")
