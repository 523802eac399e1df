"""``keras_to_npu``: Keras models as estimators."""

from __future__ import annotations

from drynpu_tf.bridge.keras import (
    model_to_npu_estimator,
)

__all__ = [
    "model_to_npu_estimator",
]
