"""Optimizers that PyTorch does not have, against their formulas in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from drynpu_apex.fused import NpuFusedAdamP, NpuFusedBertAdam, NpuFusedLamb, NpuFusedRMSpropTF
from drynpu_torch.install import install

Array = np.ndarray[Any, Any]
Formula = Callable[[Array, Array, dict[str, Any], int, list[Array]], Array]
STEPS = 5
SHAPES = [(3, 4), (4,), (2, 3)]


@pytest.fixture(autouse=True)
def _device() -> None:
    install()


def means(state: dict[str, Any], gradient: Array, first: float, second: float) -> tuple[Array, Array]:
    state["m"] = first * state.get("m", 0) + (1 - first) * gradient
    state["v"] = second * state.get("v", 0) + (1 - second) * gradient**2
    return state["m"], state["v"]


def lamb(weight: Array, gradient: Array, state: dict[str, Any], step: int, every: list[Array]) -> Array:
    norm = np.sqrt(sum((each**2).sum() for each in every))
    mean, square = means(state, gradient / norm if norm > 1 else gradient, 0.8, 0.95)
    change = mean / (np.sqrt(square) + 1e-6) + 0.1 * weight
    return weight - 0.05 * min(np.linalg.norm(weight), 10) / np.linalg.norm(change) * change


def bert_adam(weight: Array, gradient: Array, state: dict[str, Any], step: int, every: list[Array]) -> Array:
    norm = np.sqrt(sum((each**2).sum() for each in every))
    mean, square = means(state, gradient * min(1.0, 0.5 / (norm + 1e-6)), 0.9, 0.999)
    done = (step - 1) / 10
    factor = done / 0.25 if done < 0.25 else (done - 1) / (0.25 - 1)
    return weight - 0.05 * factor * (mean / (np.sqrt(square) + 1e-6) + 0.01 * weight)


def adam_p(weight: Array, gradient: Array, state: dict[str, Any], step: int, every: list[Array]) -> Array:
    """Written after the paper (Heo et al., "AdamP", algorithm 1), row by row and as a whole."""
    mean, square = means(state, gradient, 0.9, 0.999)
    change = mean / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    decay = 1.0
    for rows in (len(weight), 1) if weight.ndim > 1 else ():
        w, g = weight.reshape(rows, -1), gradient.reshape(rows, -1)
        cosines = [abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(w, g, strict=True)]
        if max(cosines) < 0.9 / np.sqrt(w.shape[1]):
            unit = w / np.linalg.norm(w, axis=1, keepdims=True)
            flat = change.reshape(rows, -1)
            change = (flat - unit * (unit * flat).sum(axis=1, keepdims=True)).reshape(weight.shape)
            decay = 0.1
            break
    return weight * (1 - 0.05 * 0.2 * decay) - 0.05 / (1 - 0.9**step) * change


def rms_tf(weight: Array, gradient: Array, state: dict[str, Any], step: int, every: list[Array]) -> Array:
    gradient = gradient + 0.1 * weight
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * gradient**2
    state["g"] = 0.9 * state.get("g", 0) + 0.1 * gradient
    root = np.sqrt(state["v"] - state["g"] ** 2 + 1e-10)
    state["b"] = 0.8 * state.get("b", 0) + 0.05 * gradient / root
    result: Array = weight - state["b"]
    return result


def rms_tf_decoupled(weight: Array, gradient: Array, state: dict[str, Any], step: int, every: list[Array]) -> Array:
    weight = weight - 0.1 * weight
    state["v"] = 0.9 * state.get("v", 0) + 0.1 * gradient**2
    state["b"] = 0.8 * state.get("b", 0) + gradient / np.sqrt(state["v"] + 1e-10)
    result: Array = weight - 0.05 * state["b"]
    return result


CASES: dict[str, tuple[Any, dict[str, Any], Formula]] = {
    "lamb": (NpuFusedLamb, {"betas": (0.8, 0.95), "weight_decay": 0.1, "use_global_grad_norm": True}, lamb),
    "bert": (NpuFusedBertAdam, {"warmup": 0.25, "t_total": 10, "max_grad_norm": 0.5}, bert_adam),
    "adamp": (NpuFusedAdamP, {"weight_decay": 0.2, "delta": 0.9}, adam_p),
    "rms": (NpuFusedRMSpropTF, {"weight_decay": 0.1, "momentum": 0.8, "centered": True}, rms_tf),
    "rms apart": (
        NpuFusedRMSpropTF,
        {"weight_decay": 0.1, "momentum": 0.8, "decoupled_decay": True, "lr_in_momentum": False},
        rms_tf_decoupled,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_weights_follow_the_formula(case: str) -> None:
    kind, options, formula = CASES[case]
    random = np.random.default_rng(1)
    weights = [random.standard_normal(shape) for shape in SHAPES]
    parameters = [torch.tensor(each, dtype=torch.float32).to("npu").requires_grad_() for each in weights]
    optimizer = kind(parameters, lr=0.05, **options)
    states: list[dict[str, Any]] = [{} for _ in SHAPES]
    for step in range(1, STEPS + 1):
        gradients = [random.standard_normal(shape) for shape in SHAPES]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = torch.tensor(gradient, dtype=torch.float32).to("npu")
        optimizer.step()
        weights = [
            formula(weight, gradient, state, step, gradients)
            for weight, gradient, state in zip(weights, gradients, states, strict=True)
        ]
        for parameter, weight in zip(parameters, weights, strict=True):
            np.testing.assert_allclose(parameter.detach().cpu().numpy(), weight, rtol=2e-4, atol=2e-5)


def test_wrong_options_are_named() -> None:
    parameters = [torch.ones(2, requires_grad=True)]
    for call, message in (
        (lambda: NpuFusedLamb(parameters, betas=(0.9, 1.0)), "Invalid beta parameter at index 1: 1.0"),
        (lambda: NpuFusedBertAdam(parameters, 0.1, schedule="cosine"), "Invalid schedule parameter: cosine"),
        (lambda: NpuFusedRMSpropTF(parameters, alpha=-1), "Invalid alpha value: -1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
