"""
Rules: which kernels one launch of a MindSpore primitive stands for on an NPU.

A rule takes a signature and states work (operations, bytes, tiles, tensors, kernel names), never times. Kernels bear
GE's operator types (device_and_cost_model.md 4.3); what GE runs on the AI CPU keeps MindSpore's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels import Rule, join_rules, ops
from drynpu_mindspore.rules._launch import LaunchCall, signature, unknown_without_tensors
from drynpu_mindspore.rules._node import KERNEL_TYPES, compiled_rules, either, graph_signature
from drynpu_mindspore.rules._tables import NOTHING, api_of, placement_rules

__all__ = [
    "KERNEL_TYPES",
    "NOTHING",
    "RULES",
    "LaunchCall",
    "Rule",
    "api_of",
    "build_rules",
    "graph_signature",
    "signature",
    "unknown_without_tensors",
]


def build_rules() -> dict[str, Rule]:
    """Return a fresh table of all rules by primitive, as MindSpore names it."""
    return either(join_rules([ops.rules_of("mindspore", LaunchCall), placement_rules()]), compiled_rules())


RULES: Final[Mapping[str, Rule]] = MappingProxyType(build_rules())
"""By primitive, as the capture names it."""
