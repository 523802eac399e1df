"""Address translation of tasks: hits and misses of the translation buffers."""

from __future__ import annotations
