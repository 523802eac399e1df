"""``npu_device.utils``."""

from __future__ import annotations

from npu_device.utils import scope

__all__ = [
    "scope",
]
