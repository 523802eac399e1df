"""``torch.npu.graphs``: graphs of the device (docs/torch-graphs.md)."""

from __future__ import annotations

from drynpu_torch.device.npu import (
    is_current_stream_capturing,
    super_kernel_scope_begin,
    super_kernel_scope_end,
)
from drynpu_torch_graphs._callables import make_graphed_callables
from drynpu_torch_graphs._graphs import NPUGraph, graph, graph_pool_handle
from drynpu_torch_graphs._tasks import (
    NPUTaskGroupHandle,
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
)

__all__ = [
    "NPUGraph",
    "NPUTaskGroupHandle",
    "graph",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "is_current_stream_capturing",
    "make_graphed_callables",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
]
