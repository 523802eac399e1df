"""``npu_estimator``: the Estimator."""

from __future__ import annotations

from drynpu_tf.bridge.estimator import (
    NPUEstimator,
    NPUEstimatorSpec,
)

__all__ = [
    "NPUEstimator",
    "NPUEstimatorSpec",
]
