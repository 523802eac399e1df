"""The facade of ``apex.fp16_utils.loss_scaler``."""

from __future__ import annotations

from drynpu_apex.kernels import (
    DynamicScaler as DynamicLossScaler,
)
from drynpu_apex.kernels import (
    StaticScaler as LossScaler,
)
from drynpu_apex.networks import to_python_float

__all__ = ["DynamicLossScaler", "LossScaler", "to_python_float"]
