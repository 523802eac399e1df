"""``npu_device.configs.npu_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuConfig

__all__ = [
    "NpuConfig",
]
