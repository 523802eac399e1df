"""``npu_bridge.tbe``: operators of the AI core."""

from __future__ import annotations
