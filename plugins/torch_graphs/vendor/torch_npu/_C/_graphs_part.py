"""What ``torch_npu._C`` gets from the plugin."""

from __future__ import annotations

from drynpu_torch_graphs._graphs import graph_pool_handle as _graph_pool_handle
from drynpu_torch_graphs._tasks import NPUTaskGroupHandle as _NPUTaskGroupHandle

__all__ = ["_NPUTaskGroupHandle", "_graph_pool_handle"]
