"""``torch.npu._npugraph_handlers``: what changes arguments of captured operators."""

from __future__ import annotations

from drynpu_torch_graphs._handlers import NpuGraphOpHandler, register_npu_graph_handler

__all__ = ["NpuGraphOpHandler", "register_npu_graph_handler"]
