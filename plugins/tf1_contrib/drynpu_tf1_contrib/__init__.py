"""What scripts for TensorFlow 1 take from ``tf.contrib``: where its names stand today, and those that drynpu brings."""

from __future__ import annotations

from drynpu_tf.contrib._places import PACKAGE, PARTS, PLACES, SLIM

__all__ = ["PACKAGE", "PARTS", "PLACES", "SLIM"]
