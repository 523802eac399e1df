"""``npu_device.distribute.npu_callbacks``."""

from __future__ import annotations

from drynpu_tf.bridge.keras import NPUBroadcastGlobalVariablesCallback

__all__ = [
    "NPUBroadcastGlobalVariablesCallback",
]
