"""Models and data with which tests compare scaled training with plain training."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

_WIDTH, _BATCHES, _SKIPPED = 8, 4, 2


def create_scaling_models_optimizers(
    device: str = "npu", optimizer_ctor: Any = torch.optim.SGD, optimizer_kwargs: dict[str, Any] | None = None
) -> tuple[nn.Module, nn.Module, Any, Any]:
    """Return two models with the same weights, and an optimizer for each."""
    plain, scaled = (nn.Sequential(nn.Linear(_WIDTH, _WIDTH), nn.Linear(_WIDTH, _WIDTH)).to(device) for _ in range(2))
    scaled.load_state_dict(plain.state_dict())
    options = {"lr": 1.0} | (optimizer_kwargs or {})
    return plain, scaled, *(optimizer_ctor(model.parameters(), **options) for model in (plain, scaled))


def create_scaling_case(
    device: str = "npu",
    dtype: torch.dtype = torch.float,
    optimizer_ctor: Any = torch.optim.SGD,
    optimizer_kwargs: dict[str, Any] | None = None,
) -> tuple[Any, ...]:
    """Return models and optimizers, pairs of input and target, a loss, and the step to skip."""
    models = create_scaling_models_optimizers(device, optimizer_ctor, optimizer_kwargs)
    shape = (_WIDTH, _WIDTH)
    data = [tuple(torch.randn(shape, dtype=dtype, device=device) for _ in range(2)) for _ in range(_BATCHES)]
    return *models, data, nn.MSELoss().to("npu"), _SKIPPED
