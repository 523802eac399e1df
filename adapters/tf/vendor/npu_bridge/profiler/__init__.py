"""``npu_bridge.profiler``."""

from __future__ import annotations
