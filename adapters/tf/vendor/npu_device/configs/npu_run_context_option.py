"""``npu_device.configs.npu_run_context_option``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuRunContextOptions

__all__ = [
    "NpuRunContextOptions",
]
