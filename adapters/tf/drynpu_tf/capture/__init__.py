"""What TensorFlow did: operators with their shapes, and the steps they belong to."""

from __future__ import annotations

from drynpu_tf.capture._nodes import is_backward
from drynpu_tf.capture._session_run import CapturedRun, RunKey, SessionCapture

__all__ = ["CapturedRun", "RunKey", "SessionCapture", "is_backward"]
