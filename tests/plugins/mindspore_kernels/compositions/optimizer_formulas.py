"""Weights after steps of optimizers, each as its paper or its documentation has it. NumPy alone computes them."""

from __future__ import annotations

from typing import Any

import numpy as np


def nesterov_adam(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of Adam that looks ahead by its momentum, as ``nn.Adam`` does."""
    mean, square = 0, 0
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        w = w - scale * (0.9 * mean + 0.1 * gradient) / (np.sqrt(square) + 1e-8)
    return w


def amsgrad(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of Adam whose second moment never falls."""
    mean, square, largest = 0, 0, 0
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        largest = np.maximum(largest, square)
        w = w - rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step) * mean / (np.sqrt(largest) + 1e-8)
    return w


def followed(w: Any, gradients: Any, rate: float, start: float = 0.1, l1: float = 0.0) -> Any:
    """Return weights after steps of FTRL (McMahan et al. 2013)."""
    squares, linear = start, 0
    for gradient in gradients:
        larger = squares + gradient**2
        linear = linear + gradient - (np.sqrt(larger) - np.sqrt(squares)) / rate * w
        w = np.where(abs(linear) > l1, (np.sign(linear) * l1 - linear) / (np.sqrt(larger) / rate), 0)
        squares = larger
    return w


def layerwise(w: Any, gradients: Any, rate: float, decay: float = 0.0) -> Any:
    """Return weights after steps of LAMB (You et al. 2019)."""
    mean, square = 0, 0
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.999**step)) + 1e-6) + decay * w
        w = w - rate * np.linalg.norm(w) / np.linalg.norm(change) * change
    return w


def trusted(w: Any, gradient: Any, coefficient: float = 0.001, decay: float = 0.0, eps: float = 1e-5) -> Any:
    """Return the gradient that LARS (You et al. 2017) hands on."""
    sizes = np.linalg.norm(w), np.linalg.norm(gradient)
    return coefficient * sizes[0] / (sizes[1] + decay * sizes[0] + eps) * (gradient + decay * w)


def averaged(w: Any, gradients: Any, rate: float, pull: float = 1e-4) -> Any:
    """Return weights after steps of averaged gradient descent (Polyak and Juditsky 1992), without the average."""
    eta = rate
    for step, gradient in enumerate(gradients, 1):
        w = w * (1 - pull * eta) - eta * gradient
        eta = rate / (1 + pull * rate * step) ** 0.75
    return w


def resilient(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of Rprop, each element with a step size of its own."""
    step, before = np.full(w.shape, rate), np.zeros(w.shape)
    for gradient in gradients:
        same = before * gradient
        step = step * np.where(same > 0, 1.2, np.where(same < 0, 0.5, 1))
        before = np.where(same < 0, 0, gradient)
        w = w - np.sign(before) * step
    return w


def factored(w: Any, gradient: Any, rate: float) -> Any:
    """Return weights after the first step of Adafactor (Shazeer and Stern 2018) with a momentum of 0.9."""
    square = gradient**2 + 1e-30
    rows, columns = square.mean(1, keepdims=True), square.mean(0, keepdims=True)
    change = gradient / np.sqrt(rows / rows.mean() * columns)
    return w - 0.1 * rate * change / max(1, np.sqrt((change**2).mean()))


def nadam(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of NAdam (Dozat 2016) whose momentum warms up."""
    mean, square, product = 0, 0, 1.0
    for step, gradient in enumerate(gradients, 1):
        now, then = (0.9 * (1 - 0.5 * 0.96 ** (place * 0.004)) for place in (step, step + 1))
        product *= now
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        spread = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        w = w - rate * (gradient * (1 - now) / (1 - product) + mean * then / (1 - product * then)) / spread
    return w


def radam(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of RAdam (Liu et al. 2019); the variance counts from where it can be told."""
    mean, square, last = 0, 0, 2 / (1 - 0.999) - 1
    for step, gradient in enumerate(gradients, 1):
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        length = last - 2 * step * 0.999**step / (1 - 0.999**step)
        change = mean / (1 - 0.9**step)
        if length > 5:
            share = (length - 4) * (length - 2) * last / ((last - 4) * (last - 2) * length)
            change = change * np.sqrt(share * (1 - 0.999**step)) / (np.sqrt(square) + 1e-8)
        w = w - rate * change
    return w


def centred(w: Any, gradients: Any, rate: float) -> Any:
    """Return weights after steps of RMSProp over the variance of gradients, which begins at 1."""
    square, mean = 1.0, 0.0
    for gradient in gradients:
        square, mean = 0.9 * square + 0.1 * gradient**2, 0.9 * mean + 0.1 * gradient
        w = w - rate * gradient / np.sqrt(square - mean**2 + 1e-10)
    return w
