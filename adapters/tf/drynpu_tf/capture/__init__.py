"""Capture of what TensorFlow runs: operators with their shapes, and the steps they belong to."""

from __future__ import annotations

from drynpu_tf.capture._dataset_reads import DatasetRead
from drynpu_tf.capture._session_run import RunContent, RunKey, SessionCapture
from drynpu_tf.capture._trace import Stretch, TraceCapture

__all__ = [
    "DatasetRead",
    "RunContent",
    "RunKey",
    "SessionCapture",
    "Stretch",
    "TraceCapture",
]
