"""``mindspore.train``: ``Model`` and callbacks."""

from __future__ import annotations

from mindspore_like.train.callback import Callback, LossMonitor, RunContext, TimeMonitor
from mindspore_like.train.model import Model

__all__ = ["Callback", "LossMonitor", "Model", "RunContext", "TimeMonitor"]
