"""
Rules: which kernels one call of an ``aten`` operator launches on an NPU.

A rule takes a signature and states work (operations, bytes, tiles, tensors, kernel names), never times. Three kinds of
operators have rules: those that launch kernels, those that launch nothing (``NO_KERNEL``), and composite operators that
call nothing where nothing is to do. Other composite operators have no rule: the operators that they call have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu import lazy_room

if TYPE_CHECKING:
    from drynpu_torch.rules._dtypes import ge_dtype
    from drynpu_torch.rules._launched import NAMESPACE, TENSOR_SLOTS, KernelWork, operator_of_kernel
    from drynpu_torch.rules._names import NO_KERNEL, is_transparent
    from drynpu_torch.rules._recorded import signature_from_profile
    from drynpu_torch.rules._signature import signature_from_kineto
    from drynpu_torch.rules._table import FALLBACKS, RULES, build_rules
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "FALLBACKS",
    "NAMESPACE",
    "NO_KERNEL",
    "RULES",
    "TENSOR_SLOTS",
    "KernelWork",
    "build_rules",
    "ge_dtype",
    "is_transparent",
    "operator_of_kernel",
    "signature_from_kineto",
    "signature_from_profile",
]
