"""``npu_convert_dropout``: importing it gives Keras the device's dropout."""

from __future__ import annotations

from drynpu_tf.bridge.keras import (
    convert_dropout,
    dropout_call,
)

__all__ = [
    "dropout_call",
]

convert_dropout()
