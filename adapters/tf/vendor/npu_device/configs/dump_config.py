"""``npu_device.configs.dump_config``."""

from __future__ import annotations

from drynpu_tf.device2 import NpuDumpConfig

__all__ = [
    "NpuDumpConfig",
]
