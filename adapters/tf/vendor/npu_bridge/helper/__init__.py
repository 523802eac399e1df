"""``npu_bridge.helper``."""

from __future__ import annotations
