"""
The compiler of graphs that scripts know as ``torchair``: its options, its backend and the words of its converters.

The backend runs a graph operator by operator, because the simulated npu does not model fused graphs.
"""

from __future__ import annotations

from drynpu_torch_operators.graph_backend._backend import build_backend, build_compiler
from drynpu_torch_operators.graph_backend._converters import (
    GraphTensor,
    Scope,
    attribute_of,
    converter_of,
    in_a_graph_alone,
    patch_nothing,
)
from drynpu_torch_operators.graph_backend._options import CompilerConfig, Options

__all__ = [
    "CompilerConfig",
    "GraphTensor",
    "Options",
    "Scope",
    "attribute_of",
    "build_backend",
    "build_compiler",
    "converter_of",
    "in_a_graph_alone",
    "patch_nothing",
]
