"""Sessions of TensorFlow 1 on the device: their options are read, and what they run is recorded."""

from __future__ import annotations

from drynpu_tf.sessions._install import install, set_turns

__all__ = ["install", "set_turns"]
