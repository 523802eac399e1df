"""``npu_convert_dropout``: importing it gives Keras the device's dropout; here Keras keeps its own."""

from __future__ import annotations

from drynpu_tf.bridge.keras import (
    dropout_call,
)

__all__ = [
    "dropout_call",
]
