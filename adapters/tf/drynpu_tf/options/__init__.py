"""What a TensorFlow script asks of the NPU: the ``NpuOptimizer`` of its ConfigProto, and how to profile."""

from __future__ import annotations

from drynpu_tf.options._npu_options import NpuOptions, npu_options_of
from drynpu_tf.options._profiling import resolve_profiling, say_notices

__all__ = ["NpuOptions", "npu_options_of", "resolve_profiling", "say_notices"]
