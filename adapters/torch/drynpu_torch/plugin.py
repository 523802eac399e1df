"""
The torch adapter's hooks.

Cheap to import: neither torch nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping

from drynpu.plugins import Facade, KernelRule, facade_folder, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the one vendor module of this adapter, ``torch_npu``."""
    return (Facade(module="torch_npu", framework="torch", extra="torch", folder=facade_folder(__file__)),)


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for ``aten`` operators."""
    if framework != "torch":
        return {}
    from drynpu_torch.rules import RULES

    return RULES
