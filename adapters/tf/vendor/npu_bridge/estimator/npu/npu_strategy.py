"""``npu_strategy``."""

from __future__ import annotations

from drynpu_tf.bridge.optimizers import (
    NPUStrategy,
)

__all__ = [
    "NPUStrategy",
]
