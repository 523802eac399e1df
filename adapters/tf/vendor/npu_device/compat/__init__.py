"""``npu_device.compat``: TensorFlow 1 on this package."""

from __future__ import annotations

from npu_device.compat import v1

from drynpu_tf.device2.api import enable_v1

__all__ = [
    "enable_v1",
    "v1",
]
