"""``npu_device.ops``."""

from __future__ import annotations

from drynpu_tf.device2.training import gelu

__all__ = [
    "gelu",
]
