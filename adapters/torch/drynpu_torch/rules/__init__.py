"""
Rules: which kernels one call of an ``aten`` operator launches on an NPU.

A rule takes a signature and states work (operations, bytes, tiles, tensors, kernel names), never times. Three
kinds of operators have rules: those that launch, those that launch nothing (``NO_KERNEL``), and composites that
may have had nothing to do. All other composites have none: what they called speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels import Rule, ops
from drynpu_torch.rules._call import AtenCall
from drynpu_torch.rules._composed import composed_rules
from drynpu_torch.rules._convolution import convolution_rules
from drynpu_torch.rules._copies import copy_rules
from drynpu_torch.rules._creation import creation_rules
from drynpu_torch.rules._dtypes import ge_dtype
from drynpu_torch.rules._elementwise import elementwise_rules
from drynpu_torch.rules._indexing import indexing_rules
from drynpu_torch.rules._loss import loss_rules
from drynpu_torch.rules._matmul import matmul_rules
from drynpu_torch.rules._names import MAYBE_NOTHING, NO_KERNEL, is_transparent, no_kernel, transparent, wrapper_rule
from drynpu_torch.rules._optimizer import optimizer_rules
from drynpu_torch.rules._reduction import reduction_rules
from drynpu_torch.rules._signature import signature_from_kineto

__all__ = [
    "FALLBACKS",
    "NO_KERNEL",
    "RULES",
    "Rule",
    "build_rules",
    "ge_dtype",
    "is_transparent",
    "signature_from_kineto",
]

_FAMILIES: Final = (
    elementwise_rules,
    composed_rules,
    reduction_rules,
    loss_rules,
    indexing_rules,
    creation_rules,
    copy_rules,
    optimizer_rules,
    matmul_rules,
    convolution_rules,
)


def build_rules() -> dict[str, Rule]:
    """Return a fresh table of all rules by operator name, as Kineto spells it."""
    rules: dict[str, Rule] = dict.fromkeys(NO_KERNEL, no_kernel)
    rules |= dict.fromkeys(MAYBE_NOTHING, transparent)
    for found in (ops.rules_of("torch", AtenCall), *(family() for family in _FAMILIES)):
        twice = rules.keys() & found.keys()
        if twice:
            raise ValueError(f"more than one rule for {', '.join(sorted(twice))}")
        rules |= found
    return rules


RULES: Final[Mapping[str, Rule]] = MappingProxyType(build_rules())
FALLBACKS: Final[tuple[Rule, ...]] = (wrapper_rule,)
"""Rules that the rule book asks when no rule of that name answers."""
