"""
The torch adapter's hooks.

Cheap to import: neither torch nor anything of the adapter is imported before a hook needs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import drynpu
from drynpu.plugins import Facade, KernelRule, hookimpl


@hookimpl
def drynpu_facades() -> tuple[Facade, ...]:
    """Return the one vendor module of this adapter, ``torch_npu``."""
    return (Facade(module="torch_npu", framework="torch", extra="torch", folder=_vendor_folder()),)


@hookimpl
def drynpu_kernel_rules(framework: str) -> Mapping[str, KernelRule]:
    """Return the rules for ``aten`` operators."""
    if framework != "torch":
        return {}
    from drynpu_torch.rules import RULES

    return RULES


def _vendor_folder() -> Path:
    """Return the folder of the facades: inside the core in a wheel, beside the adapter in a checkout."""
    installed = Path(drynpu.__file__).with_name("_vendor")
    return installed if installed.is_dir() else Path(__file__).parents[1] / "vendor"
