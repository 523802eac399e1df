"""``npu_rnn``."""

from __future__ import annotations

from drynpu_tf.bridge.recurrent import (
    npu_dynamic_rnn,
)

__all__ = [
    "npu_dynamic_rnn",
]
