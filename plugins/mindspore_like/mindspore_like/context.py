"""``mindspore.context``: what the script says of its device."""

from __future__ import annotations

from mindspore_like._context import GRAPH_MODE, PYNATIVE_MODE
from mindspore_like._runtime import RUNTIME

__all__ = ["GRAPH_MODE", "PYNATIVE_MODE", "get_context", "set_context", "set_device"]

set_context = RUNTIME.context.set_context
get_context = RUNTIME.context.get_context
set_device = RUNTIME.context.set_device
