"""Names of ``tf.contrib.framework`` that stand in several modules today."""

from __future__ import annotations

import tensorflow.compat.v1 as tf

from drynpu_tf.inside import RecordInput, remove_squeezable_dimensions

__all__ = [
    "CriticalSection",
    "RecordInput",
    "argsort",
    "broadcast_to",
    "py_func",
    "remove_squeezable_dimensions",
    "sort",
    "warm_start",
]

argsort, sort, broadcast_to, py_func = tf.argsort, tf.sort, tf.broadcast_to, tf.py_func
CriticalSection = tf.CriticalSection
warm_start = tf.train.warm_start
