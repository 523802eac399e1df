"""``npu_device.configs.dump_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuDumpConfig

__all__ = [
    "NpuDumpConfig",
]
