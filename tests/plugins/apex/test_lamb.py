"""``Lamb`` of apex, whose gradients are not scaled by the norm of all: each step against its formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from drynpu_apex.optimizers import Lamb
from drynpu_torch.install import install

SHAPES = [(3, 4), (4,), (2, 3)]


@pytest.fixture(autouse=True)
def _device() -> None:
    install()


def test_weights_follow_the_formula() -> None:
    random = np.random.default_rng(1)
    weights = [random.standard_normal(shape) for shape in SHAPES]
    parameters = [torch.tensor(each, dtype=torch.float32).to("npu").requires_grad_() for each in weights]
    optimizer = Lamb(parameters, lr=0.05, betas=(0.8, 0.95), weight_decay=0.1)
    means = [np.zeros(shape) for shape in SHAPES]
    squares = [np.zeros(shape) for shape in SHAPES]
    for _ in range(5):
        for index, (shape, parameter) in enumerate(zip(SHAPES, parameters, strict=True)):
            gradient = random.standard_normal(shape)
            parameter.grad = torch.tensor(gradient, dtype=torch.float32).to("npu")
            means[index] = 0.8 * means[index] + 0.2 * gradient
            squares[index] = 0.95 * squares[index] + 0.05 * gradient**2
            change = means[index] / (np.sqrt(squares[index]) + 1e-6) + 0.1 * weights[index]
            size = min(np.linalg.norm(weights[index]), 10) / np.linalg.norm(change)
            weights[index] = weights[index] - 0.05 * size * change
        optimizer.step()
        for parameter, weight in zip(parameters, weights, strict=True):
            np.testing.assert_allclose(parameter.detach().cpu().numpy(), weight, rtol=2e-4, atol=2e-5)
