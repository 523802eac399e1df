"""Steps of optimizers in one kernel; weights and moments change in place."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _adam_w(
    weight: Any,
    first: Any,
    second: Any,
    largest: Any,
    gradient: Any,
    step: Any,
    rate: Any,
    beta1: Any,
    beta2: Any,
    decay: Any,
    eps: Any,
    amsgrad: Any = False,
    maximize: Any = False,
) -> Any:
    # The first step is number 0: mint.optim.AdamW counts from there, and so does torch_npu where it calls the operator.
    count = float(np.ravel(step)[0]) + 1
    corrections = 1 - float(beta1) ** count, 1 - float(beta2) ** count
    state = (weight, first, second, largest if amsgrad else None)
    options = (float(rate), float(beta1), float(beta2), float(decay), float(eps))
    w, m, v, top = _stepped(state, -gradient if maximize else gradient, corrections, options)
    return w, m, v, w, m, v, top


def _stepped(state: Any, gradient: Any, corrections: Any, options: Any) -> tuple[Any, Any, Any, Any]:
    """Return weight, moments and the largest second moment after a step."""
    weight, first, second, largest = state
    rate, beta1, beta2, decay, eps = options
    m = beta1 * first + (1 - beta1) * gradient
    v = beta2 * second + (1 - beta2) * gradient**2
    top = None if largest is None else np.maximum(largest, v)
    spread = np.sqrt((v if top is None else top) / corrections[1]) + eps
    return weight * (1 - rate * decay) - rate * m / corrections[0] / spread, m, v, top


def _apply_adam_w(
    weight: Any,
    first: Any,
    second: Any,
    power1: Any,
    power2: Any,
    rate: Any,
    decay: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    gradient: Any,
    largest: Any = None,
    amsgrad: Any = False,
    maximize: Any = False,
) -> Any:
    numbers = (float(np.ravel(each)[0]) for each in (rate, beta1, beta2, decay, eps))
    corrections = 1 - float(np.ravel(power1)[0]), 1 - float(np.ravel(power2)[0])
    state = (weight, first, second, largest if amsgrad else None)
    w, m, v, _ = _stepped(state, -gradient if maximize else gradient, corrections, tuple(numbers))
    return w, m, v, w, m, v


def _lamb(
    weight: Any,
    first: Any,
    second: Any,
    rate: Any,
    beta1: Any,
    beta2: Any,
    eps: Any,
    decay: Any,
    step: Any,
    gradient: Any,
) -> Any:
    count = float(np.ravel(step)[0])
    b1, b2 = float(np.ravel(beta1)[0]), float(np.ravel(beta2)[0])
    m, v = b1 * first + (1 - b1) * gradient, b2 * second + (1 - b2) * gradient**2
    change = m / (1 - b1**count) / (np.sqrt(v / (1 - b2**count)) + eps) + decay * weight
    sizes = np.linalg.norm(weight), np.linalg.norm(change)
    trust = sizes[0] / sizes[1] if all(sizes) else 1.0
    w = weight - rate * trust * change
    return w, w, m, v


def _first(value: Any) -> float:
    return float(np.ravel(value)[0])


def _ftrl(
    weight: Any, squares: Any, linear: Any, gradient: Any, rate: Any, l1: Any, l2: Any, power: Any
) -> tuple[Any, ...]:
    exponent, scale, pull = -_first(power), _first(rate), _first(l1)
    larger = squares + gradient**2
    spread = larger**exponent
    linear = linear + gradient - (spread - squares**exponent) / scale * weight
    moved = (np.sign(linear) * pull - linear) / (spread / scale + 2 * _first(l2))
    w = np.where(np.abs(linear) > pull, moved, 0)
    return w, w, larger, linear


def _nesterov(weight: Any, velocity: Any, rate: Any, gradient: Any, momentum: Any) -> tuple[Any, ...]:
    share = _first(momentum)
    v = share * velocity + gradient
    w = weight - _first(rate) * (gradient + share * v)
    return w, w, v


def _keras_momentum(
    weight: Any, velocity: Any, rate: Any, gradient: Any, momentum: Any, *, use_nesterov: bool = False
) -> tuple[Any, ...]:
    share, step = _first(momentum), _first(rate) * gradient
    v = share * velocity - step
    w = weight + (share * v - step if use_nesterov else v)
    return w, v, w, v


def _dual_averaging(
    weight: Any, sums: Any, squares: Any, gradient: Any, rate: Any, l1: Any, l2: Any, step: Any
) -> tuple[Any, ...]:
    del weight
    count, scale = _first(step), _first(rate)
    total, spread = sums + gradient, squares + gradient**2
    pull = np.sign(total) * np.maximum(np.abs(total) - _first(l1) * count, 0) if _first(l1) > 0 else total
    w = -scale * pull / (_first(l2) * count * scale + np.sqrt(spread))
    return w, w, total, spread


def _lars(
    weight: Any,
    gradient: Any,
    weight_square: Any,
    gradient_square: Any,
    decay: Any,
    rate: Any,
    eps: Any,
    coefficient: Any,
    clips: Any,
) -> Any:
    sizes, pull = [np.sqrt(_first(each)) for each in (weight_square, gradient_square)], _first(decay)
    trust = 1.0
    if all(sizes):
        trust = _first(coefficient) * sizes[0] / (sizes[1] + pull * sizes[0] + _first(eps))
        trust = min(trust / _first(rate), 1.0) if _first(clips) else trust
    return trust * (gradient + pull * weight)


OPTIMIZERS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "AdamW": _adam_w,
        "ApplyAdagradDA": _dual_averaging,
        "ApplyAdamW": _apply_adam_w,
        "ApplyFtrl": _ftrl,
        "ApplyKerasMomentum": _keras_momentum,
        "ApplyNesterovMomentum": _nesterov,
        "LARSUpdateWithOptions": _lars,
        "Lamb": _lamb,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
