"""The table of all rules, and the rules for names that are not in it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from drynpu.kernels import KernelPlan, Rule, Signature, join_rules, ops
from drynpu_torch.rules import (
    _attention,
    _composed,
    _convolution,
    _copies,
    _creation,
    _elementwise,
    _indexing,
    _loss,
    _matmul,
    _optimizer,
    _reduction,
)
from drynpu_torch.rules._call import AtenCall
from drynpu_torch.rules._dispatcher import dispatcher_rule
from drynpu_torch.rules._launched import launched_rule
from drynpu_torch.rules._names import MAYBE_NOTHING, NO_KERNEL, aten_rules, no_kernel, transparent, wrapper_rule

_FAMILIES: Final = (
    _elementwise,
    _composed,
    _reduction,
    _loss,
    _indexing,
    _creation,
    _copies,
    _optimizer,
    _matmul,
    _convolution,
    _attention,
)


def build_rules() -> dict[str, Rule]:
    """Return a fresh table of all rules by operator name, as Kineto spells it."""
    nothing: dict[str, Rule] = dict.fromkeys(NO_KERNEL, no_kernel)
    maybe: dict[str, Rule] = dict.fromkeys(MAYBE_NOTHING, transparent)
    return join_rules(
        [nothing, maybe, ops.rules_of("torch", AtenCall), *(aten_rules(family.NAMES) for family in _FAMILIES)]
    )


RULES: Final[Mapping[str, Rule]] = MappingProxyType(build_rules())


def _unlisted(signature: Signature) -> KernelPlan | None:
    """Ask the dispatcher about operators without a rule; one whose rule has no answer is left to what it called."""
    return None if signature.name in RULES else dispatcher_rule(signature)


FALLBACKS: Final[tuple[Rule, ...]] = (wrapper_rule, launched_rule, _unlisted)
"""Rules for names without a rule in the table, in the order in which they are tried."""
