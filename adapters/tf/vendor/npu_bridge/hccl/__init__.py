"""``npu_bridge.hccl``."""

from __future__ import annotations
