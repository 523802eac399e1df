"""The generated operators (``npu_unary_ops.npu_unary_ops``, ``helper.get_gen_ops()``), as far as scripts call them."""

from __future__ import annotations

from drynpu_tf.bridge.operators import fast_gelu as fast_gelu
from drynpu_tf.bridge.operators import gelu as gelu
