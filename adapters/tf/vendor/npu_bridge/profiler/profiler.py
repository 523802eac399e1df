"""``profiler``: local profiling."""

from __future__ import annotations

from drynpu_tf.bridge.profiler import (
    Profiler,
)

__all__ = [
    "Profiler",
]
