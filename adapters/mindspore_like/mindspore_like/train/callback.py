"""``mindspore.train.callback``: callbacks, and what they are handed."""

from __future__ import annotations

from mindspore_like._callback import Callback, RunContext
from mindspore_like._monitors import LossMonitor, TimeMonitor

__all__ = ["Callback", "LossMonitor", "RunContext", "TimeMonitor"]
