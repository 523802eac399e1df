"""What scripts for TensorFlow 1 take from ``tf.contrib``: where its names stand today, and those that drynpu brings."""

from __future__ import annotations

from drynpu_tf1_contrib._places import PARTS, PLACES, SLIM

__all__ = ["PARTS", "PLACES", "SLIM"]
