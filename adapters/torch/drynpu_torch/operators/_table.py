"""All families, their registration, and the names that torch_npu exports."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

import torch

from drynpu_torch.operators import (
    activations,
    attention,
    caches,
    grouped,
    inference,
    layer_norms,
    layouts,
    matmul,
    moe,
    norms,
    optimizers,
    quantisation,
    rotary,
)
from drynpu_torch.operators._packets import packet
from drynpu_torch.operators._refused import RefusedOperator
from drynpu_torch.operators._refused_names import SUBSTITUTES
from drynpu_torch.operators._registry import NAMESPACE, register_operator, schemas_by_name

FAMILIES: Final[tuple[ModuleType, ...]] = (
    *(attention, norms, layer_norms, rotary, activations),
    *(inference, caches, grouped, matmul, quantisation),
    *(moe, optimizers, layouts),
)


@functools.cache
def register() -> tuple[torch.library.Library, ...]:
    """Register all operators, once per process; the cache keeps the library, with which they would go."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
    for family in FAMILIES:
        schemas = schemas_by_name(family.SCHEMAS)
        for name, operator in family.OPERATORS.items():
            register_operator(library, schemas[name], operator)
    for name, value in exported().items():
        setattr(getattr(torch.ops, NAMESPACE), name, value)
    return (library,)


@functools.cache
def exported() -> Mapping[str, Any]:
    """Return the operators by the names that ``torch_npu`` and ``torch.ops.npu`` have for them."""
    forms: dict[str, list[str]] = defaultdict(list)
    for name in (name for family in FAMILIES for name in family.OPERATORS):
        forms[name.partition(".")[0]].append(name)
    computed = {base: packet(base, overloads) for base, overloads in forms.items()}
    return {name: RefusedOperator(name, substitute) for name, substitute in SUBSTITUTES.items()} | computed
