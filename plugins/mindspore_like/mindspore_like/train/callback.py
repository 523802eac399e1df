"""``mindspore.train.callback``: callbacks, and what they are handed."""

from __future__ import annotations

from mindspore_like._callback import Callback, LossMonitor, RunContext, TimeMonitor

__all__ = ["Callback", "LossMonitor", "RunContext", "TimeMonitor"]
