"""``npu_device.train.optimizer``."""

from __future__ import annotations

from drynpu_tf.device2.training import NpuLossScaleOptimizer

__all__ = [
    "NpuLossScaleOptimizer",
]
