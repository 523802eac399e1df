"""What ``torch.npu`` gets from the plugin."""

from __future__ import annotations

from importlib import import_module

from drynpu_torch.device.npu.graphs import *

from drynpu_torch.device.npu import graphs
from drynpu_torch_graphs._graphs import launch_host_func as _launch_host_func
from drynpu_torch_graphs._graphs import subscribe_report as _subscribe_report
from drynpu_torch_graphs._graphs import unsubscribe_report as _unsubscribe_report
from drynpu_torch_graphs._handlers import NpuGraphOpHandler, register_npu_graph_handler

import_module(f"{__package__}._npugraph_handlers.npugraph_handler")  # now, so that torch.npu and torch_npu.npu share it

__all__ = ["NpuGraphOpHandler", "graphs", "register_npu_graph_handler"]
__all__ += ["_launch_host_func", "_subscribe_report", "_unsubscribe_report"]  # vLLM-Ascend calls them
__all__ += graphs.__all__
