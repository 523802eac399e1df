"""Optimizer steps in one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, no_kernels
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import NpuOperator

SCHEMAS = """
npu_apply_adam_w(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1, Scalar beta2,
    Scalar epsilon, Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize) -> (Tensor, Tensor, Tensor)
npu_apply_adam_w.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1,
    Scalar beta2, Scalar epsilon, Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize, *,
    Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), Tensor(b!), Tensor(c!))
npu_apply_adam(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon,
    Tensor grad, bool? use_locking, bool? use_nesterov) -> (Tensor, Tensor, Tensor)
npu_apply_adam.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon,
    Tensor grad, bool? use_locking, bool? use_nesterov, *, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) ->
    (Tensor(a!), Tensor(b!), Tensor(c!))
"""


def _without_results(name: str) -> NoReturn:
    raise RuntimeError(errors.tagged(f"{name} is not implemented for Tensor", errors.NOT_SUPPORTED))


def _adam_w_alone() -> NoReturn:
    _without_results("npu_apply_adam_w")


def _adam_alone() -> NoReturn:
    _without_results("npu_apply_adam")


def _adam_w(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    weight_decay: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    max_grad_norm: Tensor | None,
    amsgrad: bool | None,
    maximize: bool | None,
    var: Tensor,
    m: Tensor,
    v: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    # The powers belong to the step before: the kernel multiplies once more.
    errors.require(not amsgrad or max_grad_norm is not None, "if amsgrad is true, max_grad_norm input must be entered")
    slope = -wide(grad) if maximize else wide(grad)
    first = wide(m) * beta1 + (1 - beta1) * slope
    second = wide(v) * beta2 + (1 - beta2) * slope.square()
    largest = second
    if amsgrad and max_grad_norm is not None:
        largest = second.maximum(wide(max_grad_norm))
        max_grad_norm.copy_(largest)
    size = (largest / (1 - beta2_power * beta2)).sqrt() + epsilon
    step = lr / (1 - beta1_power * beta1) * first / size
    var.copy_(wide(var) * (1 - lr * weight_decay) - step)
    return var, m.copy_(first), v.copy_(second)


def _adam(
    beta1_power: float,
    beta2_power: float,
    lr: float,
    beta1: float,
    beta2: float,
    epsilon: float,
    grad: Tensor,
    use_nesterov: bool | None,
    var: Tensor,
    m: Tensor,
    v: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    slope = wide(grad)
    first = wide(m) * beta1 + (1 - beta1) * slope
    second = wide(v) * beta2 + (1 - beta2) * slope.square()
    # As on a device, powers of 1 divide by zero: the step is infinite, or not a number.
    rate = lr * (1 - beta2_power) ** 0.5 / slope.new_tensor(1 - beta1_power, dtype=torch.float64)
    ahead = first * beta1 + (1 - beta1) * slope if use_nesterov else first
    var.copy_(wide(var) - rate * ahead / (second.sqrt() + epsilon))
    return var, m.copy_(first), v.copy_(second)


def _state(var: Tensor, m: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    return var, m, v


def _step(kernel: str) -> NpuOperator:
    def kernels(call: Call) -> Iterable[Launch]:
        state = call.tensors("var", "m", "v")
        size = sum(t.numel() * t.element_size() for t in state)
        inputs = [*state, *call.tensors("grad"), *(t for t in call.inputs if t is call.arguments.get("max_grad_norm"))]
        yield Launch(kernel=kernel, inputs=inputs, outputs=state, over=state[0].numel(), written=size)

    compute = _adam_w if kernel == "ApplyAdamW" else _adam
    return NpuOperator(compute=compute, shapes=_state, kernels=kernels)


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_apply_adam_w": NpuOperator(compute=_adam_w_alone, kernels=no_kernels),
    "npu_apply_adam_w.out": _step("ApplyAdamW"),
    "npu_apply_adam": NpuOperator(compute=_adam_alone, kernels=no_kernels),
    "npu_apply_adam.out": _step("ApplyAdamD"),
}
