"""``npu_device.configs.memory_optimize_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import GraphMemoryOptimizeConfig

__all__ = [
    "GraphMemoryOptimizeConfig",
]
