"""What a TensorFlow script requests of the NPU: the ``NpuOptimizer`` of its ConfigProto, and how to profile."""

from __future__ import annotations

from drynpu_tf.options._npu_options import OPTIMIZER_NAME, PRECISION_NOTE, NpuOptions, npu_options_of, precision_of
from drynpu_tf.options._profiling import read_number, resolve_profiling, say_notices

__all__ = [
    "OPTIMIZER_NAME",
    "PRECISION_NOTE",
    "NpuOptions",
    "npu_options_of",
    "precision_of",
    "read_number",
    "resolve_profiling",
    "say_notices",
]
