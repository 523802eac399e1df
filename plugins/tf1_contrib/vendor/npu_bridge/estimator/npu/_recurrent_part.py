"""What ``npu_bridge.estimator.npu`` gets from the plugin."""

from __future__ import annotations

from npu_bridge.estimator.npu import npu_rnn

__all__ = ["npu_rnn"]
