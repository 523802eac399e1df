"""``npu_device.configs.memory_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import MemoryConfig

__all__ = [
    "MemoryConfig",
]
