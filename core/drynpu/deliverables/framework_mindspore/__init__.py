"""Host events that MindSpore's profiler keeps beside the toolkit's records."""

from __future__ import annotations
