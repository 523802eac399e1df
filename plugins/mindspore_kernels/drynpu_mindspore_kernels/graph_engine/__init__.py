"""
The graph engine at jit level O2: kernel graphs compiled as a whole, and the launches that they replace.

The CPU runs a graph node by node. :func:`compile_graph` says which node stands for what on the device, and
:class:`WholeGraphs` gives the launches of each run of a graph their place in the compiled one.
"""

from __future__ import annotations

from drynpu_mindspore_kernels.graph_engine._compile import CompiledGraph, compile_graph
from drynpu_mindspore_kernels.graph_engine._launches import WholeGraphs

__all__ = ["CompiledGraph", "WholeGraphs", "compile_graph"]
