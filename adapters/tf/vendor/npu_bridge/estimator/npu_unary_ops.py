"""``npu_unary_ops``: an object of the same name with the operators."""

from __future__ import annotations

from drynpu_tf.bridge import unary as npu_unary_ops

__all__ = ["npu_unary_ops"]
