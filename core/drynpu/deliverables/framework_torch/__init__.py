"""Host events that torch's profiler keeps beside the toolkit's records."""

from __future__ import annotations
