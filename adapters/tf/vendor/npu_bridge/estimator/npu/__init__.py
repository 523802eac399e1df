"""``npu_bridge.estimator.npu``."""

from __future__ import annotations
