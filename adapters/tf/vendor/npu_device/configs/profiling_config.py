"""``npu_device.configs.profiling_config``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuProfilingConfig

__all__ = [
    "NpuProfilingConfig",
]
