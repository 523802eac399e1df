"""The generated operators of one tensor (``npu_unary_ops.npu_unary_ops``)."""

from __future__ import annotations

from drynpu_tf.bridge.generated import fast_gelu as fast_gelu
from drynpu_tf.bridge.generated import gelu as gelu
from drynpu_tf.bridge.generated import gelu_grad as gelu_grad
