"""``npu_loss_scale_manager``."""

from __future__ import annotations

from drynpu_tf.bridge.loss_scale import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
)

__all__ = [
    "ExponentialUpdateLossScaleManager",
    "FixedLossScaleManager",
]
