"""All families, their registration, and the names that are refused."""

from __future__ import annotations

import functools
from typing import Final

import torch

from drynpu_vllm_ascend.operators import experts, latent, linear, lora, moe, norms, shared
from drynpu_vllm_ascend.served import define

NAMESPACE: Final = "_C_ascend"

_OPERATORS: Final = (
    *norms.OPERATORS,
    *moe.OPERATORS,
    *lora.OPERATORS,
    *experts.OPERATORS,
    *latent.OPERATORS,
    *linear.OPERATORS,
)


def operator_names() -> tuple[str, ...]:
    """Return the names of the operators, with their namespace, as recordings have them."""
    names = (*(each.name for each in _OPERATORS), *(each.name for each in shared.OPERATORS))
    return tuple(f"{NAMESPACE}::{name}" for name in names)


@functools.cache
def register() -> tuple[torch.library.Library, ...]:
    """Register all operators, once per process; the cache keeps the library, with which they would go."""
    library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]
    for operator in _OPERATORS:
        define(library, NAMESPACE, operator)
    for same in shared.OPERATORS:
        shared.define(library, same)
    getattr(torch.ops, NAMESPACE).__class__ = _Operators
    return (library,)


# N19, docs/tricks.md
class _Operators(torch._ops._OpNamespace):
    """``torch.ops._C_ascend``, which says of a missing operator that drynpu does not compute it."""

    __module__ = torch._ops.__name__

    def __getattr__(self, name: str) -> object:  # type: ignore[override]
        try:
            return torch._ops._OpNamespace.__getattr__(self, name)
        except AttributeError:
            text = f"torch.ops.{NAMESPACE}.{name}: drynpu does not compute this operator of vLLM-Ascend"
            raise AttributeError(text) from None
