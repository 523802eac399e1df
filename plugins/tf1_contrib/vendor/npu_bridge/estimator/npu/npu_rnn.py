"""``npu_rnn``."""

from __future__ import annotations

from drynpu_tf1_contrib.npu_recurrent import (
    npu_dynamic_rnn,
)

__all__ = [
    "npu_dynamic_rnn",
]
