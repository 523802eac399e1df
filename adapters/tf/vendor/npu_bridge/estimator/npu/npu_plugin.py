"""``npu_plugin``."""

from __future__ import annotations

from drynpu_tf.bridge.plugin import (
    npu_close,
    npu_resource_init,
    npu_resource_shutdown,
)

__all__ = [
    "npu_close",
    "npu_resource_init",
    "npu_resource_shutdown",
]
