"""``npu_device.compat.v1``: sessions of TensorFlow 1."""

from __future__ import annotations

from drynpu_tf.device2.api import SessionConfigBuilder

__all__ = [
    "SessionConfigBuilder",
]
