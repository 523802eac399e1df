"""``npu_device.configs.experimental_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuExperimentalConfig

__all__ = [
    "NpuExperimentalConfig",
]
