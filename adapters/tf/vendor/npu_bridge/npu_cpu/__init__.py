"""``npu_bridge.npu_cpu``."""

from __future__ import annotations
