"""The vendor's module of the handlers; scripts add theirs to its table."""

from __future__ import annotations

from drynpu_torch_graphs._handlers import _NPU_GRAPH_OP_HANDLERS as _NPU_GRAPH_OP_HANDLERS
from drynpu_torch_graphs._handlers import NpuGraphOpHandler, register_npu_graph_handler

__all__ = ["NpuGraphOpHandler", "register_npu_graph_handler"]
