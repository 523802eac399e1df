"""``npu_loss_scale_optimizer``."""

from __future__ import annotations

from drynpu_tf.bridge.loss_scale import (
    NPULossScaleOptimizer,
)

__all__ = [
    "NPULossScaleOptimizer",
]
