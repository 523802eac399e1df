"""``npu_device.configs``."""

from __future__ import annotations

from drynpu_tf.device2.options import NpuRunContextOptions as run_context_options

__all__ = [
    "run_context_options",
]
