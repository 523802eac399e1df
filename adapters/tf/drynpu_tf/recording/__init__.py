"""From captured operators to a finished PROF directory, and the one recording that a process has at a time."""

from __future__ import annotations

from drynpu_tf.recording._engine_recording import EngineRecording
from drynpu_tf.recording._process import PROCESS
from drynpu_tf.recording._timeline import GraphExecution

__all__ = ["PROCESS", "EngineRecording", "GraphExecution"]
