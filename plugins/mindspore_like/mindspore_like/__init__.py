"""
A package that looks like MindSpore to a script's profiler, callbacks and device, where there is no MindSpore.

NumPy computes. Operators are reported by :class:`Tensor` and :mod:`ops`, or by :func:`record_operator` for what the
script computes itself. There are no networks and no gradients: ``Model`` drives a step function of the script's.
"""

from __future__ import annotations

import numpy as np

from mindspore_like import context, dataset, device_manager, log, ops, profiler, runtime, train
from mindspore_like._operators import record_operator, scope, timed_operator
from mindspore_like._runtime import RUNTIME as _RUNTIME
from mindspore_like._runtime import __version__
from mindspore_like._tensor import Tensor
from mindspore_like.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context, set_device
from mindspore_like.profiler import EnvProfiler, Profiler
from mindspore_like.train import Callback, LossMonitor, Model, RunContext, TimeMonitor

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "Callback",
    "EnvProfiler",
    "LossMonitor",
    "Model",
    "Profiler",
    "RunContext",
    "Tensor",
    "TimeMonitor",
    "__version__",
    "bool_",
    "context",
    "dataset",
    "device_manager",
    "float16",
    "float32",
    "float64",
    "get_context",
    "int8",
    "int16",
    "int32",
    "int64",
    "log",
    "ops",
    "profiler",
    "record_operator",
    "runtime",
    "scope",
    "set_context",
    "set_device",
    "timed_operator",
    "train",
    "uint8",
]

bool_ = np.dtype(np.bool_)
float16, float32, float64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
int8, int16, int32, int64 = np.dtype(np.int8), np.dtype(np.int16), np.dtype(np.int32), np.dtype(np.int64)
uint8 = np.dtype(np.uint8)

# MS_PROFILER_OPTIONS profiles a script from here to its end.
_RUNTIME.surface.EnvProfiler.init_profiler()
