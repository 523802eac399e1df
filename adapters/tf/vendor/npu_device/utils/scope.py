"""``npu_device.utils.scope``: marks on nodes of graphs."""

from __future__ import annotations

from drynpu_tf.bridge.scopes import keep_dtype_scope, npu_recompute_scope
from drynpu_tf.device2.api import npu_gradients_scope, npu_optimizer_scope

__all__ = [
    "keep_dtype_scope",
    "npu_gradients_scope",
    "npu_optimizer_scope",
    "npu_recompute_scope",
]
