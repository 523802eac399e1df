"""``DynamicProfilerMonitor``: a profiler that a file starts and stops while training goes on."""

from __future__ import annotations

from drynpu_mindspore.profiler.dynamic._config import DEFAULT_DOCUMENT, DynamicOptions, read_options
from drynpu_mindspore.profiler.dynamic._monitor import DynamicMonitor

__all__ = ["DEFAULT_DOCUMENT", "DynamicMonitor", "DynamicOptions", "read_options"]
