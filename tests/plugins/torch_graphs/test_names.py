"""The vendor's names of graphs: in ``torch.npu``, in its modules, and in ``torch_npu.npu``."""

from __future__ import annotations

import importlib

import pytest
import torch

NAMES = """
NPUGraph graph graph_pool_handle make_graphed_callables graph_task_group_begin graph_task_group_end
graph_task_update_begin graph_task_update_end NpuGraphOpHandler register_npu_graph_handler
"""
OF_THE_MODULE = """
is_current_stream_capturing graph_pool_handle NPUGraph graph make_graphed_callables super_kernel_scope_begin
super_kernel_scope_end
"""

pytestmark = pytest.mark.usefixtures("npu")


def test_every_name_is_there() -> None:
    assert [name for name in NAMES.split() if not hasattr(torch.npu, name)] == []
    assert {*NAMES.split()} <= set(torch.npu.__all__)


def test_a_module_of_both_packages_is_one() -> None:
    graphs = importlib.import_module("torch_npu.npu.graphs")
    assert graphs is torch.npu.graphs is importlib.import_module("torch.npu.graphs")
    assert [name for name in OF_THE_MODULE.split() if getattr(graphs, name) is not getattr(torch.npu, name)] == []
