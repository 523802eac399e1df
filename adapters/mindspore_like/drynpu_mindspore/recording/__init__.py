"""From what was captured to a run directory ``*_ascend_ms``, and from run directories to their deliverables."""

from __future__ import annotations

from drynpu_mindspore.recording._backend import RecordingBackend
from drynpu_mindspore.recording._capture import Capturing

__all__ = ["Capturing", "RecordingBackend"]
