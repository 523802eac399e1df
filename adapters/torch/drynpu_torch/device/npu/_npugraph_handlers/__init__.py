"""Which arguments of captured operators :meth:`NPUGraph.update` changes, under the vendor's module names."""

from __future__ import annotations

from drynpu_torch.device.npu._npugraph_handlers.npugraph_handler import (
    NpuGraphOpHandler,
    register_npu_graph_handler,
)

__all__ = ["NpuGraphOpHandler", "register_npu_graph_handler"]
