"""``npu_bridge.estimator``."""

from __future__ import annotations
