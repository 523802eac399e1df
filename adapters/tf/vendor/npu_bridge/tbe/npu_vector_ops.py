"""``npu_vector_ops``: operators of the vector unit."""

from __future__ import annotations

from drynpu_tf.bridge.generated import (
    lamb_apply_optimizer_assign,
    lamb_apply_weight_assign,
)
from drynpu_tf.bridge.keras import PReLU

__all__ = [
    "PReLU",
    "lamb_apply_optimizer_assign",
    "lamb_apply_weight_assign",
]
