"""``mindspore.train.callback``: the callbacks of ``mindspore.train``."""

from __future__ import annotations

from mindspore_like.train import Callback, LossMonitor, RunContext, TimeMonitor

__all__ = ["Callback", "LossMonitor", "RunContext", "TimeMonitor"]
