"""
Rules: which kernels one call of a TensorFlow operator launches on an NPU.

A rule takes a signature and states work (operations, bytes, tiles, tensors, kernel names), never times. Kernels bear
GE's operator types (device_and_cost_model.md 4.3); operators that GE runs on the AI CPU or that it does not know keep
TensorFlow's type.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels import Rule, bind, framed, join_rules, ops
from drynpu_tf.rules._call import TfCall, unary_chain
from drynpu_tf.rules._graph import GraphNode, compile_graph
from drynpu_tf.rules._parts import PART, RESULTS, Part, result_text
from drynpu_tf.rules._placement import is_call, pattern_rule, placement_rules
from drynpu_tf.rules._precision import Precision, read_precision
from drynpu_tf.rules._signature import IN_PLACE, VENDOR_TYPE, attributes_of, dtype_name, tensor_desc

__all__ = [
    "FALLBACKS",
    "IN_PLACE",
    "PART",
    "RESULTS",
    "RULES",
    "VENDOR_TYPE",
    "GraphNode",
    "Part",
    "Precision",
    "attributes_of",
    "build_rules",
    "compile_graph",
    "dtype_name",
    "is_call",
    "read_precision",
    "result_text",
    "tensor_desc",
]


def build_rules() -> dict[str, Rule]:
    """Return a fresh table of all rules by operator type, as TensorFlow spells it."""
    # TensorFlow's own passes make this operator; no script writes it, so no table of the core has it.
    composed = {"_UnaryOpsComposition": bind(unary_chain, "()", TfCall)}
    rules = join_rules([ops.rules_of("tf", TfCall), composed, placement_rules()])
    return {name: framed(rule) for name, rule in rules.items()}


RULES: Final[Mapping[str, Rule]] = MappingProxyType(build_rules())
FALLBACKS: Final[tuple[Rule, ...]] = (pattern_rule,)
"""Rules that the rule book tries when no rule of the operator's name returns a plan."""
