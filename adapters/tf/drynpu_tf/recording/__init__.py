"""From captured operators to a finished PROF directory, and the one recording that a process has at a time."""

from __future__ import annotations

from drynpu_tf.recording._process import PROCESS, ProcessRecording
from drynpu_tf.recording._recorder import Recorder
from drynpu_tf.recording._timeline import Step

__all__ = ["PROCESS", "ProcessRecording", "Recorder", "Step"]
