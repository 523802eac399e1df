"""``npu_aicore_ops``: an object of the same name with the operators, and some of them."""

from __future__ import annotations

from drynpu_tf.bridge import generated as npu_aicore_ops
from drynpu_tf.bridge.generated import centralization, dropout_v3, fast_gelu, fast_gelu_grad
from drynpu_tf.bridge.generated import p_relu as prelu

__all__ = [
    "centralization",
    "dropout_v3",
    "fast_gelu",
    "fast_gelu_grad",
    "npu_aicore_ops",
    "prelu",
]
