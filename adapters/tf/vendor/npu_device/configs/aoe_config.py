"""``npu_device.configs.aoe_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuAoeConfig

__all__ = [
    "NpuAoeConfig",
]
